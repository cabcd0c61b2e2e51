"""Search rows: items of an agent's past that can be found, and who may find them."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from opencrab.domain.access.authority import does_authority_taint_reader
from opencrab.domain.conversation.message import Audience, Line, LineKind
from opencrab.domain.conversation.session import Hearing, Session

if TYPE_CHECKING:
    from opencrab.domain.memory.memory import CoreMemory, Experience, Memory
    from opencrab.domain.memory.summary import Summary


class RowKind(StrEnum):
    """The kind of a search result; people in a session receive only `speech`."""

    SPEECH = "speech"
    INSTRUCTION = "instruction"
    INNER_VOICE = "inner_voice"
    MEMORY = "memory"
    EXPERIENCE = "experience"
    SUMMARY = "summary"


@dataclass(frozen=True, slots=True)
class SearchRow:
    """A searchable item: a line of a session, or an item with an id of its own.

    `sequence` is the line's number, 0 for other items; `ref` is the id of other items. `importance`
    is between 0 and 1. `taint` says that the text is untrusted.
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
        """The id shown to people and models: `SESSION:12` for a line, `memory:ID` for the rest."""
        return f"{self.kind}:{self.ref}" if self.ref else f"{self.session_id}:{self.sequence}"

    @property
    def is_spoken(self) -> bool:
        """True for a line of a conversation, whose neighbouring lines give its context."""
        return self.sequence > 0 and self.kind is RowKind.SPEECH


@dataclass(frozen=True, slots=True)
class SearchClearance:
    """The rights of a searcher, which decide what a search may find.

    The owner and the agent itself find everything. A user finds what everybody may hear, what its
    guild may hear, and what is not private of this session, with its guidance, and of those in
    which that person spoke. Where several people read, `is_member` instead of a person leaves out
    other sessions. Outsiders find the speech of the present session, and what its guild and
    everybody may hear. `session_id` and `guild_id` are where the search happens; `person_id` is the
    user, "" for outsiders.
    """

    whole: bool = False
    session_id: str = ""
    guild_id: str = ""
    person_id: str = ""
    is_member: bool = False

    @property
    def knows_session(self) -> bool:
        """True if memories and guidance of the present session may be found, not only speech."""
        return self.is_member or bool(self.person_id)

    def allows(self, row: SearchRow, heard: AbstractSet[str] = frozenset()) -> bool:
        """Check whether a row may be found; `heard` are the sessions where the person spoke."""
        if self.whole or row.hearing is Hearing.PUBLIC:
            return True
        if row.hearing is Hearing.GUILD and row.guild_id and row.guild_id == self.guild_id:
            return True
        told = row.hearing is not Hearing.PRIVATE
        if self.session_id and row.session_id == self.session_id:
            # Not what was kept of it for others, nor what the agent thought in turns for others.
            open_line = not row.ref and row.kind is not RowKind.INNER_VOICE
            return told or open_line if self.knows_session else row.kind is RowKind.SPEECH
        return bool(self.person_id) and told and row.session_id in heard


EPOCH = datetime.fromtimestamp(0, UTC)
"""The time of items without a time."""

EVERYTHING = SearchClearance(whole=True)
"""The clearance of an owner who searches outside any session."""

_SPOKEN = {LineKind.SPEECH, LineKind.INNER_VOICE}
_KINDS = {
    Audience.ALL: RowKind.SPEECH,
    Audience.AGENTS: RowKind.INSTRUCTION,
    Audience.SELF: RowKind.INNER_VOICE,
}


def memory_search_row_of_line(line: Line, session: Session, agent_id: str) -> SearchRow | None:
    """Return the search row of a line for an agent.

    None if it is no speech or instruction, is blank, or is another agent's inner voice.
    """
    own = line.speaker_id == agent_id
    instructed = line.kind is LineKind.SYSTEM and line.audience is Audience.AGENTS
    if not (line.kind in _SPOKEN or instructed) or not line.text.strip():
        return None
    if line.audience is Audience.SELF and not own:
        return None
    foreign = not own and (line.from_agent or does_authority_taint_reader(line.authority))
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


def search_row_of_curated_memory(memory: "Memory") -> SearchRow:
    """Return the search row of a curated memory."""
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


def search_row_of_core_memory(memory: "CoreMemory") -> SearchRow:
    """Return the row of a core memory with the fields that decide who may hear of it."""
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


def memory_search_row_of_experience(lived: "Experience") -> SearchRow:
    """Return the search row of an experience: what happened, what it taught, its model."""
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


def search_row_of_summary(summary: "Summary") -> SearchRow:
    """Return the search row of a summary."""
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
