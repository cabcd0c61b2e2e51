"""The past: what of an agent's life can be found again, and who may hear of it."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from opencrab.domain.access.authority import Authority, taints_reading_turn
from opencrab.domain.conversation.message import Audience, Line, LineKind
from opencrab.domain.conversation.session import Hearing, Session
from opencrab.domain.memory.memory import CoreMemory, Experience, Memory
from opencrab.domain.memory.summary import Summary


class RowKind(StrEnum):
    """Kind of a search result; people in a session receive only `speech`."""

    SPEECH = "speech"
    INSTRUCTION = "instruction"
    INNER_VOICE = "inner_voice"
    MEMORY = "memory"
    EXPERIENCE = "experience"
    SUMMARY = "summary"


@dataclass(frozen=True, slots=True)
class SearchRow:
    """One thing that can be found: a line of a session, or something kept under an id of its own.

    `sequence` is the line's number, 0 for what is no line; `ref` is the id of what is no line.
    `importance` lies between 0 and 1. `taint` says that the words came from outside.
    """

    session_id: str
    sequence: int
    kind: RowKind
    hearing: Hearing
    speaker_id: str
    speaker: str
    at: datetime
    text: str
    guild_id: str = ""
    ref: str = ""
    importance: float = 0.5
    taint: bool = False

    @property
    def id(self) -> str:
        """What a person and a model call it: `SESSION:12` for a line, `memory:ID` for the rest."""
        return f"{self.kind}:{self.ref}" if self.ref else f"{self.session_id}:{self.sequence}"

    @property
    def is_spoken(self) -> bool:
        """Whether it is a line of a conversation, which its neighbours explain."""
        return self.sequence > 0 and self.kind is RowKind.SPEECH


@dataclass(frozen=True, slots=True)
class SearchClearance:
    """On whose behalf somebody searches, which decides what may be found.

    The owner and the agent itself find everything. A user finds what everybody may hear, all
    lines of the present session, what its guild may hear, and what is not private of this session
    and of those in which that person spoke. Outsiders find the speech of the present session, what
    its guild and what everybody may hear. `session_id` and `guild_id` are where the search
    happens; `person_id` is the user.
    """

    whole: bool = False
    session_id: str = ""
    guild_id: str = ""
    person_id: str = ""

    def allows(self, row: SearchRow, heard: AbstractSet[str] = frozenset()) -> bool:
        """Whether a row may be found; `heard` are the sessions in which the person spoke."""
        if self.whole or row.hearing is Hearing.PUBLIC:
            return True
        if row.hearing is Hearing.GUILD and row.guild_id and row.guild_id == self.guild_id:
            return True
        told = row.hearing is not Hearing.PRIVATE
        if self.session_id and row.session_id == self.session_id:
            # A user sees the lines of the session anyway, but not what was kept of it for others.
            return told or not row.ref if self.person_id else row.kind is RowKind.SPEECH
        return bool(self.person_id) and told and row.session_id in heard


def search_clearance(authority: Authority, session: Session, person_id: str) -> SearchClearance:
    """What a turn of this authority, or a request on somebody's behalf, may find."""
    if authority in {Authority.OWNER, Authority.SELF}:
        return SearchClearance(whole=True, session_id=session.id, guild_id=session.guild_id or "")
    person = person_id if authority is Authority.USER else ""
    return SearchClearance(session_id=session.id, guild_id=session.guild_id or "", person_id=person)


EPOCH = datetime.fromtimestamp(0, UTC)
"""The time of what has none."""

EVERYTHING = SearchClearance(whole=True)
"""What an owner finds who asks from no session."""

_SPOKEN = {LineKind.SPEECH, LineKind.INNER_VOICE}
_KINDS = {
    Audience.ALL: RowKind.SPEECH,
    Audience.AGENTS: RowKind.INSTRUCTION,
    Audience.SELF: RowKind.INNER_VOICE,
}


def search_row_of_line(line: Line, session: Session, agent_id: str) -> SearchRow | None:
    """A line as an agent can find it again; None for what is no speech or not for its ears."""
    own = line.speaker_id == agent_id
    instructed = line.kind is LineKind.SYSTEM and line.audience is Audience.AGENTS
    if not (line.kind in _SPOKEN or instructed) or not line.text.strip():
        return None
    if line.audience is Audience.SELF and not own:
        return None
    foreign = not own and (line.from_agent or taints_reading_turn(line.authority))
    return SearchRow(
        session_id=line.session_id,
        sequence=line.sequence,
        kind=_KINDS[line.audience],
        hearing=session.hearing if line.audience is Audience.ALL else Hearing.PRIVATE,
        speaker_id=line.speaker_id,
        speaker=line.speaker_name,
        at=line.at,
        text=line.text,
        guild_id=session.guild_id or "",
        taint=line.taint or foreign,
    )


def search_row_of_memory(memory: Memory) -> SearchRow:
    """A curated memory as it can be found again."""
    return SearchRow(
        session_id=memory.session_id,
        sequence=0,
        kind=RowKind.MEMORY,
        hearing=memory.hearing,
        speaker_id=memory.person_id,
        speaker="",
        at=memory.updated_at,
        text=memory.content,
        guild_id=memory.guild_id or "",
        ref=memory.id,
        importance=memory.importance,
        taint=memory.tainted,
    )


def search_row_of_core_memory(memory: CoreMemory) -> SearchRow:
    """A core memory as far as it decides who may hear of it."""
    return SearchRow(
        session_id=memory.session_id,
        sequence=0,
        kind=RowKind.MEMORY,
        hearing=memory.hearing,
        speaker_id=memory.person_id,
        speaker="",
        at=EPOCH,
        text=memory.content,
        guild_id=memory.guild_id or "",
        ref=memory.id,
    )


def search_row_of_experience(lived: Experience) -> SearchRow:
    """An experience as it can be found again, by what happened, what it taught, and its model."""
    return SearchRow(
        session_id=lived.session_id,
        sequence=0,
        kind=RowKind.EXPERIENCE,
        hearing=Hearing.PRIVATE,
        speaker_id=lived.person_id,
        speaker="",
        at=lived.at,
        text=f"{lived.experience}\n{lived.lesson}\n{lived.model}".strip(),
        ref=lived.id,
        taint=lived.tainted,
    )


def search_row_of_summary(summary: Summary) -> SearchRow:
    """A summary as it can be found again."""
    return SearchRow(
        session_id=summary.session_id,
        sequence=0,
        kind=RowKind.SUMMARY,
        hearing=summary.hearing,
        speaker_id="",
        speaker="",
        at=summary.until,
        text=f"{summary.title}\n{summary.text}".strip(),
        guild_id=summary.guild_id or "",
        ref=summary.id,
        taint=summary.tainted,
    )
