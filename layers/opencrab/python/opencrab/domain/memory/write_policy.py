"""Write policy: which texts become memories, and how they change existing ones.

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
from opencrab.domain.text.plain import clean_text
from opencrab.domain.text.similarity import (
    TextClaim,
    TextRelation,
    compare_texts,
    has_text_more_words,
    words_and_values_of_text,
)
from opencrab.domain.value import Value

ALWAYS_ATOMIC = 160
"""The length in characters up to which a text counts as one claim: two short sentences often are
one."""

MOST_SENTENCES = 2
MOST_CHARACTERS = 800
"""The length above which a text has many claims, even without full stops."""

TAINTED_CONFIDENCE = 0.5
"""The maximum confidence of tainted memories."""

CONFIRMED_BY = 0.25
"""The share of the remaining doubt that is removed when the same is learned again."""

SURE = 0.95
"""The maximum confidence that repetition can reach."""

SUMMARIES = "_summary"
"""The suffix of categories of summaries: they have many claims, and name their source."""

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
    """The decision about a new memory."""

    KEPT = "kept"
    MERGED = "merged"
    SUPERSEDED = "superseded"
    REFUSED = "refused"


class MemoryRefusalReason(StrEnum):
    """The reason why a memory is refused."""

    BLANK = "blank"
    UNSOURCED = "unsourced"
    NOT_ATOMIC = "not_atomic"
    SAYS_NOTHING = "says_nothing"
    KNOWN = "known"


CURES = {
    MemoryRefusalReason.BLANK: "content is blank: write the text to save",
    MemoryRefusalReason.UNSOURCED: "the source is missing: give its session or turn",
    MemoryRefusalReason.NOT_ATOMIC: (
        "content contains more than one claim: save each as a memory of its own, or use "
        "summarize_and_save"
    ),
    MemoryRefusalReason.SAYS_NOTHING: "content has no searchable words: write it in words",
    MemoryRefusalReason.KNOWN: (
        "an equal memory from a more trusted source exists: nothing needs to be saved"
    ),
}


MEMORIES = 5_000
"""The limit of memories of one agent."""

RECOUNTED = timedelta(minutes=10)
"""The time for which a full count is trusted: counting reads every memory."""

GATE = "memory_gate"
"""Kind and id of the document that counts accepted and refused memories."""


class MemoryCounts(Value):
    """The number of memories, and how many were refused ever, by reason.

    `kept` may be too high after others remove memories: it is counted again when it reaches the
    limit.
    """

    kept: int = 0
    refused: dict[MemoryRefusalReason, int] = Field(default_factory=dict)
    counted_at: datetime | None = None

    def with_refusal(self, reason: MemoryRefusalReason) -> "MemoryCounts":
        """Return the counts after one more was refused."""
        refused = self.refused | {reason: self.refused.get(reason, 0) + 1}
        return self.replaced(refused=refused)

    def changed(self, by: int) -> "MemoryCounts":
        """Return the counts after memories were added (`by` > 0) or removed."""
        return self.replaced(kept=max(self.kept + by, 0))


@dataclass(frozen=True)
class MemoryVerdict:
    """The decision about a new memory, and the memory as it is to be stored.

    A merged or superseding one has the id of the stored one; for one refused as KNOWN, `memory` is
    the stored one that says the same; for other refusals it is None.
    """

    ruling: Ruling
    memory: Memory | None = None
    reason: MemoryRefusalReason | None = None


def judge_memory(
    new: Memory, similar: Sequence[Memory], *, replaces: Memory | None = None
) -> MemoryVerdict:
    """Decide what happens to a new memory, given the stored ones most like it.

    `replaces` is the memory that its author wants to replace; if the new one may not change it, it
    is handled like any other.
    """
    reason = memory_refusal(new)
    if reason is not None:
        return MemoryVerdict(Ruling.REFUSED, reason=reason)
    if replaces is not None and may_change_memory(new, replaces):
        return MemoryVerdict(Ruling.SUPERSEDED, _supersede_memory(replaces, new, "replaced"))
    said = words_and_values_of_text(new.content)
    judged = [
        (compare_texts(said, words_and_values_of_text(each.content)), each)
        for each in similar
        if each.id != new.id
    ]
    for wanted in (TextRelation.SAME, TextRelation.NEAR, TextRelation.CONTRARY):
        alike = (
            each
            for found, each in judged
            if found is wanted and _memories_have_same_audience(new, each)
        )
        for stored in sorted(alike, key=_firmest):
            verdict = _beside(new, said, stored, wanted)
            if verdict is not None:
                return verdict
    return MemoryVerdict(Ruling.KEPT, new)


def memory_refusal(new: Memory) -> MemoryRefusalReason | None:
    """Return why a text may not become a memory, whatever else is stored; None if it may."""
    shown = clean_text(new.content)
    said = words_and_values_of_text(shown)
    if not shown:
        return MemoryRefusalReason.BLANK
    if not (new.session_id or new.turn_id or new.path or new.person_id):
        return MemoryRefusalReason.UNSOURCED
    if not said.words and not said.values:
        return MemoryRefusalReason.SAYS_NOTHING
    if not new.category.endswith(SUMMARIES) and not _is_atomic(shown):
        return MemoryRefusalReason.NOT_ATOMIC
    return None


def may_change_memory(new: Memory, stored: Memory) -> bool:
    """Check whether a new memory is trusted enough to change a stored one."""
    return _rank(new) >= _rank(stored)


def _memories_have_same_audience(new: Memory, stored: Memory) -> bool:
    """Check whether two memories may be read by the same people; only those are merged.

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
    """Return the provenance of a turn's memories; `actions` are those that succeeded in it."""
    if taint and any(name.startswith(_WEB) for name in actions):
        return Provenance.WEB
    known = {Authority.OWNER: Provenance.OWNER, Authority.SELF: Provenance.AGENT}
    return known.get(authority, Provenance.USER if authority is Authority.USER else Provenance.PEER)


def memory_category(wanted: str, authority: Authority) -> str:
    """Return the category to store: `core` only for the owner or the agent itself, else `fact`."""
    own = authority in {Authority.OWNER, Authority.SELF}
    return wanted if own or wanted != CORE else FACT


def memory_confidence(of: Provenance, *, taint: bool) -> float:
    """Return the confidence of something learned once, by provenance."""
    return min(_CONFIDENCE[of], TAINTED_CONFIDENCE) if taint else _CONFIDENCE[of]


def memory_audience(
    chosen: Hearing | None, authority: Authority, session: Session, *, taint: bool
) -> Hearing:
    """Return who may hear of a memory that a turn makes; raises Refused if `chosen` is too wide.

    By default memories of the owner and the agent itself are private; what a user says is for the
    session. A tainted turn may not open a memory to more people than that.
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
            cure="use session or guild, or omit it",
        )
    if taint and _HEARD.index(chosen) > _HEARD.index(default):
        raise Refused(
            f"a memory from untrusted text may not be saved as {chosen.value!r}",
            field="hearing",
            cure="omit it",
        )
    return chosen


def _beside(
    new: Memory, said: TextClaim, stored: Memory, found: TextRelation
) -> MemoryVerdict | None:
    """Decide about a new memory given one like it; None if it may not change that one."""
    if not may_change_memory(new, stored):
        known = found is TextRelation.SAME
        return MemoryVerdict(Ruling.REFUSED, stored, MemoryRefusalReason.KNOWN) if known else None
    if found is TextRelation.CONTRARY:
        return MemoryVerdict(Ruling.SUPERSEDED, _supersede_memory(stored, new, "contradicted"))
    if stored.tainted and not new.tainted:
        cleaned = _supersede_memory(stored, new, "confirmed")
        return MemoryVerdict(Ruling.MERGED, cleaned.replaced(merged=stored.merged + 1))
    return MemoryVerdict(Ruling.MERGED, _merge_memory(stored, new, said))


def _merge_memory(stored: Memory, new: Memory, said: TextClaim) -> Memory:
    """Return the stored memory after the same was learned again from an equally trusted source."""
    stays = stored.content == new.content or has_text_more_words(
        words_and_values_of_text(stored.content), said
    )
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
    """Return the new memory in place of the stored one, under its id."""
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
    """Check whether a text is one claim, judged by its length and its sentences."""
    if len(text) <= ALWAYS_ATOMIC:
        return True
    claims = [part for part in _SENTENCE_END.split(text) if clean_text(part)]
    return len(text) <= MOST_CHARACTERS and len(claims) <= MOST_SENTENCES


def _rank(memory: Memory) -> int:
    """Return how trusted a memory is: 0 if it is tainted, whoever said it, else at least 1."""
    return 0 if memory.tainted else _RANK.get(memory.provenance, 1)


def _firmest(memory: Memory) -> tuple[bool, float, str]:
    """Return a sort key: untainted memories first, then the most certain, then the oldest."""
    return memory.tainted, -memory.confidence, memory.id
