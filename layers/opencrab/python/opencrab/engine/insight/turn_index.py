"""Turn index: an agent's turns in order, read from the usage ledger.

The first ledger row of each turn that called a model has the time at which that call ended. A row
has the time just before it was written, so a row of another session or machine may still be
inserted before it, but not after SETTLED.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from itertools import islice

from opencrab.domain.errors import NotFound
from opencrab.domain.turn.record import ModelIntent
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.domain.usage.ledger import UsageRow, ledger_row_time
from opencrab.engine.runtime import Runtime
from opencrab.ports.clock import Clock
from opencrab.ports.paging import paginate
from opencrab.ports.turn.journal import Journal
from opencrab.ports.usage.ledger import UsageLedger

LIFE = timedelta(days=35)
"""Time for which a turn's records are kept at least."""

SETTLED = timedelta(seconds=10)

_FIRST = 1
"""The number of a turn's first record, which is the intent of its first model call."""

_PAGE = 50
_ALIVE = 100


@dataclass(frozen=True)
class TurnEntry:
    """A turn's entry in its agent's index; entry ids sort by time."""

    id: str
    turn_id: str


def insight_turn_entries(
    runtime: Runtime, agent_id: str, *, after: str | None = None, newest_first: bool = False
) -> Iterator[TurnEntry]:
    """Return an agent's turns whose first model call has ended, read lazily page by page."""
    since = runtime.clock.now() - LIFE
    rows = paginate(
        partial(runtime.home.usage.rows, agent_id, since=since, oldest_first=not newest_first),
        after=after,
        limit=_PAGE,
    )
    return (_entry(row) for row in rows if row.n == _FIRST)


def insight_turn_entry(usage: UsageLedger, agent_id: str, entry_id: str) -> TurnEntry | None:
    """Return one entry; None if the ledger no longer has it."""
    try:
        return _entry(usage.row(agent_id, entry_id))
    except NotFound:
        return None


def is_insight_turn_entry_settled(clock: Clock, entry: TurnEntry) -> bool:
    """Return True if no other entry can be inserted before this one any more."""
    return entry.id < ledger_row_time(clock.now() - SETTLED)


def newest_turn_ids_for_insight(runtime: Runtime, agent_id: str, most: int = 1) -> tuple[str, ...]:
    """Return the ids of an agent's newest turns: those in their first call, then by entry."""
    begun = [turn.id for turn in _turns_in_first_call(runtime, agent_id)]
    ended = islice(insight_turn_entries(runtime, agent_id, newest_first=True), most)
    return tuple([*begun, *(each.turn_id for each in ended if each.turn_id not in begun)][:most])


def unfinished_turns_for_insight(runtime: Runtime, agent_id: str) -> tuple[Turn, ...]:
    """Return an agent's queued and running turns among the installation's 100 oldest."""
    rules = runtime.rules
    horizon = timedelta(seconds=max(rules.lease_seconds, rules.visibility_seconds))
    found = runtime.home.journal.list_overdue(runtime.clock.now() + horizon, _ALIVE)
    return tuple(turn for turn in found if turn.agent_id == agent_id)


def _turns_in_first_call(runtime: Runtime, agent_id: str) -> list[Turn]:
    """Return an agent's turns that are in their first model call, newest first."""
    begun = [
        turn
        for turn in unfinished_turns_for_insight(runtime, agent_id)
        if turn.status is TurnStatus.RUNNING
        and turn.attempts == 1
        and _calls(runtime.home.journal, turn)
    ]
    return sorted(begun, key=lambda turn: turn.created_at, reverse=True)


def _calls(journal: Journal, turn: Turn) -> bool:
    records = journal.load(turn.id).records
    return all(isinstance(record, ModelIntent) for record in records)


def _entry(row: UsageRow) -> TurnEntry:
    return TurnEntry(row.id, row.turn_id)
