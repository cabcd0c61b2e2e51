"""Tallies in the table: counters of a cell of a day in a few items, and who was active on a day.

One atomic update counts both the day and the hour. Transactions that meet at an item refuse each
other, so that a cell is counted in several, by turn. That an agent was active is written once a
day by each process that carries out its turns.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime

from pynamodb.expressions.operand import Path
from pynamodb.expressions.update import Update

from opencrab.adapters.dynamodb.item import Fields, Item, Schema, item_shard, item_time_to_live
from opencrab.adapters.dynamodb.table import Table, Write, put_item, update_item
from opencrab.domain.usage.counters import (
    ACTIVE_KEPT,
    KEPT,
    CounterCell,
    DailyTally,
    merge_usage_tallies,
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
_COUNT, _HOUR = "n_", "h"


class DynamoTallies:
    """`ports.usage.counters.Tallies` on a DynamoDB table."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def between(self, agent_id: str, first: str, last: str) -> tuple[DailyTally, ...]:
        items = self._table.query(_partition(agent_id), f"{first}#", f"{last}$")
        return merge_usage_tallies(map(usage_tally_from_dynamodb_item, items))

    def active_agents(self, day: str, *, after: str = "", limit: int = 100) -> tuple[str, ...]:
        # One more, because the bound itself does not count and a query would count it.
        items = self._table.query(f"ACTIVE#{day}", after or "!", "~", limit=limit + 1)
        found = (item["sk"]["S"] for item in items)
        return tuple(agent_id for agent_id in found if agent_id != after)[:limit]


def usage_counter_writes(rows: tuple[UsageRow, ...], at: datetime, seen: Seen) -> Iterator[Write]:
    """Yield the writes that count calls in daily tallies and mark agents as active.

    `seen` are pairs of agent and day that are already marked.
    """
    for tally in merge_usage_tallies(map(usage_tally_of_call, rows)):
        yield _tally_update(tally, item_shard(rows[0].turn_id, SHARDS), at)
    for agent_id, day in sorted({(row.agent_id, usage_tally_day(row.at)) for row in rows} - seen):
        fields = {"ttl": item_time_to_live(at.astimezone(UTC) + ACTIVE_KEPT)}
        yield put_item(ACTIVE.encode_item(f"ACTIVE#{day}", agent_id, fields))


def tally_correction_write(tally: DailyTally, row: UsageRow) -> Write:
    """Return the write that corrects the daily tally in which a row's call was counted."""
    return _tally_update(tally, item_shard(row.turn_id, SHARDS), row.at)


def note_agents_in_usage_counters(rows: tuple[UsageRow, ...], seen: Seen) -> None:
    """Remember that agents were marked as active on a day."""
    if len(seen) >= _MOST_SEEN:
        seen.clear()
    seen.update((row.agent_id, usage_tally_day(row.at)) for row in rows)


def usage_tally_from_dynamodb_item(item: Item) -> DailyTally:
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
        cell=CounterCell.model_validate(json.loads(fields["cell"])),
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


def _tally_update(tally: DailyTally, place: int, at: datetime) -> Write:
    cell = tally.cell
    values = {
        "schema": SCHEMA.version,
        "cell": cell.model_dump_json(),
        "ttl": item_time_to_live(at.astimezone(UTC) + KEPT),
    }
    change = Update(*(Path(name).set(value) for name, value in values.items()))
    for name, count in tally.counts.items():
        change.add_action(Path(f"{_COUNT}{name}").add(count))
    for hour, counts in tally.hours.items():
        for name, count in counts.items():
            change.add_action(Path(f"{_HOUR}{hour}_{name}").add(count))
    return update_item(_partition(tally.agent_id), f"{tally.day}#{cell.id}#{place}", change)


def _partition(agent_id: str) -> str:
    return f"TALLY#{agent_id}"
