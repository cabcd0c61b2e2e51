"""Journal lines: what happened in a session, in order, for people, history and memory."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from opencrab.domain.access.authority import Authority, taints
from opencrab.domain.erasure.request import FORGOTTEN_PERSON
from opencrab.domain.value import Value

QUOTES = "quotes"
"""Under this a message's metadata names the person whose words it repeats, a line's data all."""


class LineKind(StrEnum):
    """What a line tells."""

    SPEECH = "speech"
    INNER_VOICE = "inner_voice"
    ACTION = "action"
    SYSTEM = "system"
    APPROVAL = "approval"


class Audience(StrEnum):
    """Who may read a line."""

    ALL = "all"
    AGENTS = "agents"
    SELF = "self"


class Line(Value):
    """One line of a session's journal; it never expires.

    `sequence` is its place in the session, given by the store in the transaction that writes it,
    gapless, so that a reader with a cursor misses nothing. `group_line` is the sequence of the
    first line of its group (a message and all answers to it); None means that it opens one.
    `taint` marks an agent's own line that was written after it had read foreign words.
    """

    session_id: str
    sequence: int = 0
    group: str
    group_line: int | None = None
    kind: LineKind
    audience: Audience = Audience.ALL
    speaker_id: str
    speaker_name: str
    from_agent: bool = False
    authority: Authority
    text: str
    data: dict[str, Any] | None = None
    turn_id: str | None = None
    message_id: str | None = None
    taint: bool = False
    at: datetime

    @property
    def quotes(self) -> tuple[str, ...]:
        """The people whose words it repeats, as far as whoever brought it in knew."""
        named = (self.data or {}).get(QUOTES, ()) if self.kind is LineKind.SPEECH else ()
        return tuple(str(each) for each in named)

    @property
    def forgotten(self) -> bool:
        """Whether nothing but its place is left of it."""
        return self.speaker_id == FORGOTTEN_PERSON and not self.text and self.data is None

    @property
    def opens(self) -> bool:
        """Whether it is the first line of its group."""
        return self.group_line is None or self.group_line == self.sequence

    def is_visible_to(self, agent_id: str) -> bool:
        """Whether an agent may see it: everybody's, the agents', and its own private ones."""
        return self.audience is not Audience.SELF or self.speaker_id == agent_id

    def taints_reader(self, agent_id: str) -> bool:
        """Whether its words come from outside: from another agent, or from a public sender.

        An agent's own line does so when it was written after such words had been read.
        """
        if self.taint or self.speaker_id == agent_id:
            return self.taint
        return self.from_agent or taints(self.authority)

    def erased(self) -> "Line":
        """What is left when it is forgotten: its place, its group, its kind and when it was."""
        return self.replaced(
            text="",
            data=None,
            speaker_id=FORGOTTEN_PERSON,
            speaker_name=FORGOTTEN_PERSON,
            message_id=None,
        )


class Instruction(Value):
    """A control item for running turns of a session: read at each step boundary, never queued.

    `authority` and `name` are those of who gave it; without a name it is known by its id alone.
    """

    id: str
    session_id: str
    text: str
    by: str
    name: str = ""
    authority: Authority = Authority.OWNER
    line: int = 0
    at: datetime

    def erased(self) -> "Instruction":
        """What is left when it is forgotten: enough to know the same one again."""
        return self.replaced(text="", by=FORGOTTEN_PERSON, name="")
