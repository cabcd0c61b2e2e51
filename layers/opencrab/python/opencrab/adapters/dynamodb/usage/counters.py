"""Tallies in the table: counters of a cell of a day in a few items, and who was active on a day.

One atomic update counts both the day and the hour. Transactions that meet at an item refuse each
other, so that a cell is counted in several, by turn. That an agent was active is written once a
day by each process that carries out its turns.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime

from pynamodb.expressions.condition import Condition
from pynamodb.expressions.operand import Path
from pynamodb.expressions.update import Update

from opencrab.adapters.dynamodb.item import Fields, Item, Schema, item_shard, item_time_to_live
from opencrab.adapters.dynamodb.table import (
    Cancelled,
    Table,
    Write,
    check_item,
    dynamodb_attribute_changes,
    item_absent,
    join_dynamodb_conditions,
    put_item,
    update_item,
)
from opencrab.domain.errors import Unavailable
from opencrab.domain.usage.counters import (
    ACTIVE_KEPT,
    CounterCell,
    DailyTally,
    merge_usage_tallies,
    recount_usage_tallies,
    usage_tally_day,
    usage_tally_of_call,
)
from opencrab.domain.usage.ledger import UsageRow

SCHEMA = Schema("tally")
ACTIVE = Schema("active agent")
SHARDS = 4
"""In how many items a cell is counted: one takes about 20 transactions a second."""

Seen = set[tuple[str, str]]
"""Agents and days of which this process has written that they were active."""

_MOST_SEEN = 20_000
_COUNT, _HOUR, _EXPIRES = "n_", "h", "ttl"
_CHANGING = ("calls", "full", "cost", "unconfirmed", "rated", "quality")
"""Counts of which every call, settlement and rating changes one."""


class DynamoTallies:
    """`ports.usage.counters.Tallies` on a DynamoDB table."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def between(self, agent_id: str, first: str, last: str) -> tuple[DailyTally, ...]:
        items = self._table.query(_partition(agent_id), f"{first}#", f"{last}$")
        return merge_usage_tallies(map(_usage_tally_from_dynamodb_item, items))

    def totals(self, agent_id: str, first: str, last: str) -> tuple[DailyTally, ...]:
        return _without_hours(self.between(agent_id, first, last))

    def recount(self, agent_id: str, day: str, rows: Iterable[UsageRow]) -> tuple[DailyTally, ...]:
        items = self._table.query(_partition(agent_id), f"{day}#", f"{day}$")
        stored = merge_usage_tallies(map(_usage_tally_from_dynamodb_item, items))
        corrections = tuple(recount_usage_tallies(stored, rows))
        known = {item["sk"]["S"]: item for item in items}
        for correction in corrections:
            # Another process counted meanwhile: what is stored is counted anew another time.
            with suppress(Cancelled):
                self._table.transact(*_recount_writes(correction, known))
        return _without_hours(merge_usage_tallies((*stored, *corrections)))

    def active_agents(self, day: str, *, after: str = "", limit: int = 100) -> tuple[str, ...]:
        # One more, because the bound itself does not count and a query would count it.
        items = self._table.query(f"ACTIVE#{day}", after or "!", "~", limit=limit + 1)
        found = (item["sk"]["S"] for item in items)
        return tuple(agent_id for agent_id in found if agent_id != after)[:limit]


def dynamodb_usage_counter_writes(rows: tuple[UsageRow, ...]) -> Iterator[Write]:
    """Yield the writes that count calls in daily tallies."""
    for tally in merge_usage_tallies(map(usage_tally_of_call, rows)):
        yield _tally_update(tally, item_shard(rows[0].turn_id, SHARDS))


def mark_agents_active_in_dynamodb(
    table: Table, rows: tuple[UsageRow, ...], at: datetime, seen: Seen
) -> None:
    """Mark the agents of calls as active, unless `seen` says that they are.

    Not in the transaction of the calls: all agents of a day lie in one partition, which would be
    full when ten thousand begin their day, and a paid answer would be lost. If it fails, the next
    call of the agent marks it.
    """
    new = {(row.agent_id, usage_tally_day(row.at)) for row in rows} - seen
    for agent_id, day in sorted(new):
        fields = {"ttl": item_time_to_live(at.astimezone(UTC) + ACTIVE_KEPT)}
        with suppress(Unavailable):
            table.write(put_item(ACTIVE.encode_item(f"ACTIVE#{day}", agent_id, fields)))
            _note_marked(agent_id, day, seen)


def dynamodb_tally_correction(tally: DailyTally, row: UsageRow) -> Write:
    """Return the write that corrects the daily tally in which a row's call was counted."""
    return _tally_update(tally, item_shard(row.turn_id, SHARDS))


def _note_marked(agent_id: str, day: str, seen: Seen) -> None:
    if len(seen) >= _MOST_SEEN:
        seen.clear()
    seen.add((agent_id, day))


def _usage_tally_from_dynamodb_item(item: Item) -> DailyTally:
    """Deserialize a daily tally from the item of one of its shards."""
    fields = SCHEMA.decode_item(item)
    counts = {
        name.removeprefix(_COUNT): count
        for name, count in fields.items()
        if name.startswith(_COUNT)
    }
    return DailyTally(
        agent_id=fields["pk"].removeprefix("TALLY#"),
        day=fields["sk"].partition("#")[0],
        cell=CounterCell.from_stored(fields["cell"]),
        counts=counts,
        hours=_hours(fields),
    )


def _hours(fields: Fields) -> dict[int, dict[str, int]]:
    hours: dict[int, dict[str, int]] = {}
    for name, count in fields.items():
        hour, _, counted = name.partition("_")
        if hour[:1] == _HOUR and hour[1:].isdigit():
            hours.setdefault(int(hour[1:]), {})[counted] = count
    return hours


def _without_hours(tallies: Iterable[DailyTally]) -> tuple[DailyTally, ...]:
    return tuple(tally.replaced(hours={}) for tally in tallies)


def _recount_writes(correction: DailyTally, known: Mapping[str, Item]) -> Iterator[Write]:
    """Yield the writes that correct a cell in its first shard, if all its shards are unchanged."""
    for shard in range(SHARDS):
        place = _place(correction, shard)
        item = known.get(place)
        unchanged = item_absent() if item is None else _counts_are(item)
        if shard == 0:
            yield _tally_update(correction, shard, unchanged)
        elif item is None:
            yield check_item(_partition(correction.agent_id), place, unchanged)
        else:
            kept = dynamodb_attribute_changes({_EXPIRES: None})
            yield update_item(_partition(correction.agent_id), place, kept, unchanged)


def _counts_are(item: Item) -> Condition:
    """Return the condition that an item counts what it did when it was read."""
    fields = SCHEMA.decode_item(item)
    named = (f"{_COUNT}{name}" for name in _CHANGING)
    return join_dynamodb_conditions(
        *(
            Path(name) == fields[name] if name in fields else Path(name).does_not_exist()
            for name in named
        )
    )


def _tally_update(tally: DailyTally, shard: int, condition: Condition | None = None) -> Write:
    cell = tally.cell
    change = Update(
        Path("schema").set(SCHEMA.version),
        Path("cell").set(cell.to_stored()),
        # Early releases let tallies expire.
        Path(_EXPIRES).remove(),
    )
    for name, count in tally.counts.items():
        change.add_action(Path(f"{_COUNT}{name}").add(count))
    for hour, counts in tally.hours.items():
        for name, count in counts.items():
            change.add_action(Path(f"{_HOUR}{hour}_{name}").add(count))
    return update_item(_partition(tally.agent_id), _place(tally, shard), change, condition)


def _place(tally: DailyTally, shard: int) -> str:
    return f"{tally.day}#{tally.cell.id}#{shard}"


def _partition(agent_id: str) -> str:
    return f"TALLY#{agent_id}"
