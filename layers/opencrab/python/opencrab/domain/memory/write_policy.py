"""Remembering: what may become a memory, and what it does to the memories that are there.

A memory is one claim with a source. The same claim again confirms the one that is there; one that
contradicts it takes its place, and the old wording stays in its history. Words that nobody vouches
for never touch what somebody does.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from pydantic import Field

from opencrab.domain.access.authority import Authority
from opencrab.domain.conversation.session import Hearing, Session
from opencrab.domain.errors import Refused
from opencrab.domain.memory.memory import (
    CORE,
    EARLIER_KEPT,
    FACT,
    LINKS,
    Earlier,
    Memory,
    Provenance,
)
from opencrab.domain.text.plain import visible_text
from opencrab.domain.text.similarity import (
    TextClaim,
    TextRelation,
    claim_of_text,
    has_more_words,
    relation_of_claims,
)
from opencrab.domain.value import Value

ALWAYS_ATOMIC = 160
"""Characters up to which a text counts as one claim: two short sentences often are one."""

MOST_SENTENCES = 2
MOST_CHARACTERS = 800
"""What is longer is a text with many claims, even if its author used no full stops."""

TAINTED_CONFIDENCE = 0.5
"""Most that is believed of what foreign words said."""

CONFIRMED_BY = 0.25
"""Share of the doubt that is left which goes when the same is learned again."""

SURE = 0.95
"""No repetition makes anything surer."""

SUMMARIES = "_summary"
"""How the categories of summaries end: they have many claims, and say where the rest is."""

_CONFIDENCE = {
    Provenance.OWNER: 0.9,
    Provenance.USER: 0.8,
    Provenance.AGENT: 0.7,
    Provenance.PEER: 0.5,
    Provenance.WEB: 0.5,
    Provenance.IMPORT: 0.5,
}
_RANK = {Provenance.OWNER: 2, Provenance.AGENT: 2, Provenance.USER: 1}
_HEARD = tuple(Hearing)
_WEB = "web_"
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n")


class Ruling(StrEnum):
    """What happened to a new memory."""

    KEPT = "kept"
    MERGED = "merged"
    SUPERSEDED = "superseded"
    REFUSED = "refused"


class Reason(StrEnum):
    """Why a memory is refused."""

    BLANK = "blank"
    UNSOURCED = "unsourced"
    NOT_ATOMIC = "not_atomic"
    SAYS_NOTHING = "says_nothing"
    KNOWN = "known"


CURES = {
    Reason.BLANK: "content is blank: write the text to save",
    Reason.UNSOURCED: "the source is missing: give its session or turn",
    Reason.NOT_ATOMIC: (
        "content contains more than one claim: save each as a memory of its own, or use "
        "summarize_and_save"
    ),
    Reason.SAYS_NOTHING: "content has no searchable words: write it in words",
    Reason.KNOWN: "an equal memory from a more trusted source exists: nothing needs to be saved",
}


MEMORIES = 5_000
"""Memories that one agent may keep."""

RECOUNTED = timedelta(minutes=10)
"""How long a full count is believed: counting reads every memory."""

GATE = "memory_gate"
"""Kind and id of the fact that counts what passed the gate."""


class MemoryCounts(Value):
    """How many memories there are, and how many were refused, by reason, since the beginning.

    `kept` may lag behind what others remove: it is counted again where it says that all is full.
    """

    kept: int = 0
    refused: dict[Reason, int] = Field(default_factory=dict)
    counted_at: datetime | None = None

    def with_refusal(self, reason: Reason) -> "MemoryCounts":
        """The counts after one more was refused."""
        refused = self.refused | {reason: self.refused.get(reason, 0) + 1}
        return self.replaced(refused=refused)

    def changed(self, by: int) -> "MemoryCounts":
        """The counts after memories came or went."""
        return self.replaced(kept=max(self.kept + by, 0))


@dataclass(frozen=True)
class MemoryVerdict:
    """What becomes of something new, and the memory as it is to be stored.

    Of what was merged or superseded it has the id of the stored one; of what is refused because it
    is known, the memory is that which knows it; else there is none.
    """

    ruling: Ruling
    memory: Memory | None = None
    reason: Reason | None = None


def judge_memory(
    new: Memory, similar: Sequence[Memory], *, replaces: Memory | None = None
) -> MemoryVerdict:
    """What becomes of a new memory beside those most like it.

    `replaces` is the one that its author says it takes the place of; where the new one may not, it
    is kept beside it.
    """
    reason = memory_refusal(new)
    if reason is not None:
        return MemoryVerdict(Ruling.REFUSED, reason=reason)
    if replaces is not None and may_change_memory(new, replaces):
        return MemoryVerdict(Ruling.SUPERSEDED, _supersede_memory(replaces, new, "replaced"))
    said = claim_of_text(new.content)
    judged = [
        (relation_of_claims(said, claim_of_text(each.content)), each)
        for each in similar
        if each.id != new.id
    ]
    for wanted in (TextRelation.SAME, TextRelation.NEAR, TextRelation.CONTRARY):
        alike = (
            each
            for found, each in judged
            if found is wanted and memories_have_same_audience(new, each)
        )
        for stored in sorted(alike, key=_firmest):
            verdict = _beside(new, said, stored, wanted)
            if verdict is not None:
                return verdict
    return MemoryVerdict(Ruling.KEPT, new)


def memory_refusal(new: Memory) -> Reason | None:
    """Why something may not become a memory at all, whatever is remembered already."""
    shown = visible_text(new.content)
    said = claim_of_text(shown)
    if not shown:
        return Reason.BLANK
    if not (new.session_id or new.turn_id or new.path or new.person_id):
        return Reason.UNSOURCED
    if not said.words and not said.values:
        return Reason.SAYS_NOTHING
    if not new.category.endswith(SUMMARIES) and not _is_atomic(shown):
        return Reason.NOT_ATOMIC
    return None


def may_change_memory(new: Memory, stored: Memory) -> bool:
    """Whether a new memory's word weighs enough to touch a stored one."""
    return _rank(new) >= _rank(stored)


def memories_have_same_audience(new: Memory, stored: Memory) -> bool:
    """Whether two memories are told to the same people: what one hears merges with nothing else.

    What two users said of themselves in the same words are two claims.
    """
    if new.hearing is not stored.hearing:
        return False
    if new.hearing is Hearing.SESSION and new.session_id != stored.session_id:
        return False
    if new.hearing is Hearing.GUILD and new.guild_id != stored.guild_id:
        return False
    users = {new.provenance, stored.provenance} == {Provenance.USER}
    return not users or new.person_id == stored.person_id


def memory_provenance(
    authority: Authority, *, taint: bool, actions: Iterable[str] = ()
) -> Provenance:
    """On whose word a turn's memories rest; `actions` are those that succeeded in it."""
    if taint and any(name.startswith(_WEB) for name in actions):
        return Provenance.WEB
    known = {Authority.OWNER: Provenance.OWNER, Authority.SELF: Provenance.AGENT}
    return known.get(authority, Provenance.USER if authority is Authority.USER else Provenance.PEER)


def memory_category(wanted: str, authority: Authority) -> str:
    """What a memory is kept as: what rides in every prompt only on the owner's or its own word."""
    own = authority in {Authority.OWNER, Authority.SELF}
    return wanted if own or wanted != CORE else FACT


def memory_confidence(of: Provenance, *, taint: bool) -> float:
    """How surely something is known that was learned once."""
    return min(_CONFIDENCE[of], TAINTED_CONFIDENCE) if taint else _CONFIDENCE[of]


def memory_audience(
    chosen: Hearing | None, authority: Authority, session: Session, *, taint: bool
) -> Hearing:
    """Who may hear of a memory that is made in a turn; raises Refused for more than it may say.

    An owner and the agent itself keep to themselves what they do not open; what a user says is for
    the session. No foreign words open anything to more people.
    """
    own = authority in {Authority.OWNER, Authority.SELF}
    default = Hearing.PRIVATE if own else Hearing.SESSION
    if chosen is None or chosen is default:
        return default
    if chosen is Hearing.GUILD and session.guild_id is None:
        raise Refused("the session has no guild", field="hearing", cure="use session, or omit it")
    allowed = set(Hearing) if own else {Hearing.SESSION, Hearing.GUILD}
    if chosen not in allowed:
        raise Refused(
            f"a user's statement may not be saved as {chosen.value!r}",
            field="hearing",
            cure="omit it",
        )
    if taint and _HEARD.index(chosen) > _HEARD.index(default):
        raise Refused(
            "a memory from untrusted text may not be shared with others",
            field="hearing",
            cure="omit it",
        )
    return chosen


def _beside(
    new: Memory, said: TextClaim, stored: Memory, found: TextRelation
) -> MemoryVerdict | None:
    """What a new memory does to one stored that is like it; None where it may do nothing."""
    if not may_change_memory(new, stored):
        known = found is TextRelation.SAME
        return MemoryVerdict(Ruling.REFUSED, stored, Reason.KNOWN) if known else None
    if found is TextRelation.CONTRARY:
        return MemoryVerdict(Ruling.SUPERSEDED, _supersede_memory(stored, new, "contradicted"))
    if stored.tainted and not new.tainted:
        cleaned = _supersede_memory(stored, new, "confirmed")
        return MemoryVerdict(Ruling.MERGED, cleaned.replaced(merged=stored.merged + 1))
    return MemoryVerdict(Ruling.MERGED, _merge_memory(stored, new, said))


def _merge_memory(stored: Memory, new: Memory, said: TextClaim) -> Memory:
    """The stored memory after the same was learned again, on a word that weighs as much."""
    stays = stored.content == new.content or has_more_words(claim_of_text(stored.content), said)
    other = new.content if stays else stored.content
    at, turn_id = (new.updated_at, new.turn_id) if stays else (stored.updated_at, stored.turn_id)
    content = stored.content if stays else new.content
    doubt = 1 - stored.confidence
    surer = min(stored.confidence + doubt * CONFIRMED_BY, max(SURE, stored.confidence))
    most = TAINTED_CONFIDENCE if stored.tainted else 1.0
    known = {content, *(each.content for each in stored.earlier)}
    earlier = Earlier(content=other, reason="merged", turn_id=turn_id, at=at)
    return stored.replaced(
        content=content,
        confidence=min(surer, most),
        importance=max(stored.importance, new.importance),
        links=_links(stored, new),
        path=stored.path or new.path,
        earlier=stored.earlier if other in known else _history(stored, earlier),
        merged=stored.merged + 1,
        updated_at=new.updated_at,
    )


def _supersede_memory(stored: Memory, new: Memory, reason: str) -> Memory:
    """The new memory in the stored one's place."""
    earlier = Earlier(
        content=stored.content, reason=reason, turn_id=stored.turn_id, at=stored.updated_at
    )
    return new.replaced(
        id=stored.id,
        importance=max(stored.importance, new.importance),
        links=_links(stored, new),
        earlier=_history(stored, earlier) if stored.content != new.content else stored.earlier,
        merged=stored.merged,
        created_at=stored.created_at,
    )


def _history(stored: Memory, earlier: Earlier) -> tuple[Earlier, ...]:
    return (*stored.earlier, earlier)[-EARLIER_KEPT:]


def _links(stored: Memory, new: Memory) -> tuple[str, ...]:
    both = dict.fromkeys((*stored.links, *new.links))
    both.pop(stored.id, None)
    return tuple(both)[-LINKS:]


def _is_atomic(text: str) -> bool:
    """Whether a text is one claim, as far as its length and its sentences tell."""
    if len(text) <= ALWAYS_ATOMIC:
        return True
    claims = [part for part in _SENTENCE_END.split(text) if visible_text(part)]
    return len(text) <= MOST_CHARACTERS and len(claims) <= MOST_SENTENCES


def _rank(memory: Memory) -> int:
    """How much a memory's word weighs: nothing where nobody vouches for it."""
    return 0 if memory.tainted else _RANK.get(memory.provenance, 0)


def _firmest(memory: Memory) -> tuple[bool, float, str]:
    """Clean ones first, then the surest, then the oldest."""
    return memory.tainted, -memory.confidence, memory.id
