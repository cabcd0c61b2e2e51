"""Happenings: what went on around an agent while it slept, kept until it has looked."""

from datetime import datetime, timedelta
from typing import Annotated

from pydantic import StringConstraints

from opencrab.domain.access.authority import Authority
from opencrab.domain.value import Identifier, Text, Value

HAPPENING = "happening"
"""The kind of facts that these are; their ids are in order of time."""

LATE = "late_happening"
"""The kind of facts that say under which id an event is kept whose own came too late."""

KEPT = timedelta(days=7)
"""An event that nobody looked at is forgotten after so long."""

MOST = 200
"""Events that one agent has unread at most: more only count."""

_PLACES = 8

EventType = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_.]{0,63}$")]
"""What happened, such as `speech`, `goal.completed` or `world.bounty`."""

Pattern = Annotated[str, StringConstraints(pattern=r"^([a-z][a-z0-9_.]{0,63}\*?|\*)$")]


class EventFilter(Value):
    """Which events an agent receives: by type (`world.*` is a prefix), and by source if set."""

    type: Pattern = "*"
    source: Identifier | None = None

    def fits(self, kind: str, source: str) -> bool:
        """Whether an event of this type and source is meant."""
        if self.source is not None and self.source != source:
            return False
        if self.type.endswith("*"):
            return kind.startswith(self.type[:-1])
        return kind == self.type


class LateEvent(Value):
    """Where an event is kept whose id was before what its agent had read."""

    kept_as: str


class AgentEvent(Value):
    """One event: what, from whom, in which words; `tainted` when nobody vouches for these.

    `opportunity` says that it may be worth a goal.
    """

    id: str
    type: EventType
    source: Identifier
    text: Annotated[Text, StringConstraints(max_length=2_000)] = ""
    session_id: str = ""
    authority: Authority = Authority.PUBLIC
    tainted: bool = True
    opportunity: bool = False
    at: datetime


def event_id_after(read_to: str, number: int) -> str:
    """An id right after what was read, before all ids of later events; numbers only grow."""
    base, _, last = read_to.rpartition(".")
    if base and len(last) == _PLACES and last.isdigit():
        placed = f"{base}.{number:0{_PLACES}d}"
        if placed > read_to:
            return placed
    return f"{read_to}.{number:0{_PLACES}d}"
