"""Event history of an agent, append-only, read from its turn index page by page.

Turns come in the index's order. An unfinished turn, which may wait for a human for days, does not
delay those after it: a cursor names the last turn that was reached and the turns that were
unfinished or not settled, each with the number of its events that were read. The next page begins
with new events of these, then goes on with the next turns. Each reader gets every event once, and
those of one turn in order. A turn that has not settled is read but not passed, since another may
still be inserted before it.
"""

import re
from dataclasses import dataclass, field

from opencrab.domain.errors import Invalid
from opencrab.domain.value import Language
from opencrab.engine.insight import turn_index
from opencrab.engine.insight.turn_events import Event, insight_events_of_turn
from opencrab.engine.insight.turn_index import TurnEntry
from opencrab.engine.runtime import Runtime

MOST = 200
"""Most events of one page."""

_OPEN = 16
"""Most turns that a cursor keeps open; the history does not pass one more."""

_TURNS = 50
"""Most turns that one page reads."""

_PLACE = re.compile(r"[A-Za-z0-9_\-.]{0,200}(?:/[A-Za-z0-9_\-.]{1,200}@[0-9]{1,6}){0,16}")


@dataclass(frozen=True)
class EventPage:
    """Events in order, and the cursor after them, which is unchanged if there is nothing new."""

    events: tuple[Event, ...]
    place: str


@dataclass
class _Walk:
    """State of one page: the events read, and how many of each turn that is not passed."""

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
        """Add a turn's new events, and keep the turn open unless it has ended and was passed."""
        self.looked += 1
        story = insight_events_of_turn(self.runtime, entry.turn_id, self.language)
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
        """Move the cursor to this turn if it has settled; else the next page reads it again."""
        if turn_index.is_insight_turn_entry_settled(self.runtime.clock, entry):
            self.reached = entry.id


def page_of_insight_events(
    runtime: Runtime, agent_id: str, *, after: str = "", limit: int = 100
) -> EventPage:
    """Return at most `limit` events of an agent's history after a cursor.

    Raises NotFound for an unknown agent, Invalid for a malformed cursor.
    """
    agent = runtime.home.agents.get(agent_id).agent
    reached, unfinished = _parse_cursor(after)
    walk = _Walk(runtime, agent.language, min(limit, MOST), reached, dict(unfinished))
    for entry_id, seen in unfinished.items():
        entry = turn_index.insight_turn_entry(runtime.home.usage, agent_id, entry_id)
        if entry is None:
            del walk.open[entry_id]
        elif entry.id <= reached and not walk.is_full:
            walk.look(entry, seen)
    for entry in turn_index.insight_turn_entries(runtime, agent_id, after=reached or None):
        seen = walk.open.get(entry.id, -1)
        if walk.is_full or (seen < 0 and len(walk.open) >= _OPEN):
            break
        walk.reach(entry)
        walk.look(entry, max(seen, 0))
    return EventPage(tuple(walk.told), walk.place)


def _parse_cursor(place: str) -> tuple[str, dict[str, int]]:
    if _PLACE.fullmatch(place) is None:
        raise Invalid(
            f"{place[:100]!r} is not a valid event cursor",
            field="after",
            cure="use the cursor of the last page, or omit it to start from the beginning",
        )
    reached, *rest = place.split("/")
    pairs = (part.rpartition("@") for part in rest)
    return reached, {entry: int(count) for entry, _, count in pairs}
