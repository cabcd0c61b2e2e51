"""Events: an agent's history, told from its chronicle, to which is only ever added.

Turns are told in the chronicle's order. One that has not ended does not hold up those after it: it
may wait for a human for days. A place in the history therefore names the last turn that was reached
and others that had not ended or not settled, each with how many of its events were told. From a
place the history goes on with whatever these have to add, and then with the next turns: each reader
gets every event once, and those of one turn in their order. Before a turn that has not settled
another may still come in, so it is told and not yet passed.
"""

import re
from dataclasses import dataclass, field

from opencrab.domain.errors import Invalid
from opencrab.domain.value import Language
from opencrab.engine.insight import turn_index
from opencrab.engine.insight.turn_events import Event, events_of_stored_turn
from opencrab.engine.insight.turn_index import TurnEntry
from opencrab.engine.runtime import Runtime

MOST = 200
"""Events of one page."""

_OPEN = 16
"""Turns that are not passed and yet gone on after; before one more of them the history waits."""

_TURNS = 50
"""Turns that one page looks at."""

_PLACE = re.compile(r"[A-Za-z0-9_\-.]{0,200}(?:/[A-Za-z0-9_\-.]{1,200}@[0-9]{1,6}){0,16}")


@dataclass(frozen=True)
class EventPage:
    """Some events in order, and the place after them: the same as before when nothing is new."""

    events: tuple[Event, ...]
    place: str


@dataclass
class _Walk:
    """One page in the making: what was told, and how far each turn has come that is not passed."""

    runtime: Runtime
    language: Language
    limit: int
    reached: str
    open: dict[str, int]
    looked: int = 0
    told: list[Event] = field(default_factory=list)

    @property
    def is_full(self) -> bool:
        return len(self.told) >= self.limit or self.looked >= _TURNS

    @property
    def place(self) -> str:
        return "".join((self.reached, *(f"/{entry}@{count}" for entry, count in self.open.items())))

    def look(self, entry: TurnEntry, seen: int) -> None:
        """Tell what a turn has to add, and remember it unless that is all there will be."""
        self.looked += 1
        story = events_of_stored_turn(self.runtime, entry.turn_id, self.language)
        told = () if story is None else story.events
        new = told[seen : seen + self.limit - len(self.told)]
        self.told += new
        seen += len(new)
        is_over = story is None or (story.turn.status.is_end and seen >= len(told))
        if is_over and entry.id <= self.reached:
            self.open.pop(entry.id, None)
        else:
            self.open[entry.id] = seen

    def reach(self, entry: TurnEntry) -> None:
        """Pass a turn that has settled; one that has not will be met again."""
        if turn_index.is_turn_entry_settled(self.runtime.clock, entry):
            self.reached = entry.id


def agent_event_page(
    runtime: Runtime, agent_id: str, *, after: str = "", limit: int = 100
) -> EventPage:
    """What an agent's history has after a place, so many events at most.

    Raises NotFound (agent), Invalid (a text that is no place).
    """
    agent = runtime.home.agents.get(agent_id).agent
    reached, unfinished = _parse_cursor(after)
    walk = _Walk(runtime, agent.language, min(limit, MOST), reached, dict(unfinished))
    for entry_id, seen in unfinished.items():
        entry = turn_index.turn_index_entry(runtime.home.usage, agent_id, entry_id)
        if entry is None:
            del walk.open[entry_id]
        elif entry.id <= reached and not walk.is_full:
            walk.look(entry, seen)
    for entry in turn_index.turn_index_entries(runtime, agent_id, after=reached or None):
        seen = walk.open.get(entry.id, -1)
        if walk.is_full or (seen < 0 and len(walk.open) >= _OPEN):
            break
        walk.reach(entry)
        walk.look(entry, max(seen, 0))
    return EventPage(tuple(walk.told), walk.place)


def _parse_cursor(place: str) -> tuple[str, dict[str, int]]:
    if _PLACE.fullmatch(place) is None:
        raise Invalid("invalid event history cursor", field="after", cure="omit it")
    reached, *rest = place.split("/")
    pairs = (part.rpartition("@") for part in rest)
    return reached, {entry: int(count) for entry, _, count in pairs}
