"""Events: what happened around an agent while it slept, kept until it has read them."""

from datetime import datetime, timedelta
from typing import Annotated

from pydantic import StringConstraints

from opencrab.domain.access.authority import Authority
from opencrab.domain.value import Identifier, Text, Value

HAPPENING = "happening"
"""The kind of documents that store events; their ids are in order of time."""

LATE = "late_happening"
"""The kind of documents that map the id of a late event to the id under which it is stored."""

KEPT = timedelta(days=7)
"""The time after which an unread event is deleted."""

MOST = 200
"""The limit of unread events of one agent: more are only counted."""

ANSWERED = "peer.answered"
"""The type of the event that another agent has answered, or has ended its turn in silence."""

_PLACES = 8

EventType = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_.]{0,63}$")]
"""The type of an event, such as `speech`, `goal.completed` or `world.bounty`."""

Pattern = Annotated[str, StringConstraints(pattern=r"^([a-z][a-z0-9_.]{0,63}\*?|\*)$")]


class EventFilter(Value):
    """A filter for events by type (`world.*` matches a prefix) and, if set, by source."""

    type: Pattern = "*"
    source: Identifier | None = None

    def fits(self, kind: str, source: str) -> bool:
        """Check whether an event of this type and source passes the filter."""
        if self.source is not None and self.source != source:
            return False
        if self.type.endswith("*"):
            return kind.startswith(self.type[:-1])
        return kind == self.type


class LateEvent(Value):
    """A replacement id for an event whose own id sorts before what its agent has read."""

    kept_as: str


class AgentEvent(Value):
    """An event that may wake an agent; `tainted` if its text is from an untrusted source.

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


def agent_event_id_after(read_to: str, number: int) -> str:
    """Return an id that sorts directly after `read_to` and before all ids of later events.

    A higher `number` gives an id that sorts later.
    """
    base, _, last = read_to.rpartition(".")
    if base and len(last) == _PLACES and last.isdigit():
        placed = f"{base}.{number:0{_PLACES}d}"
        if placed > read_to:
            return placed
    return f"{read_to}.{number:0{_PLACES}d}"
