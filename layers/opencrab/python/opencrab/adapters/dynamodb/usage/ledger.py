"""The usage ledger in the table: a row for each call of a model, by agent and month."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

from pynamodb.expressions.operand import Path

from opencrab.adapters.dynamodb.agent import agent_item_created_at
from opencrab.adapters.dynamodb.document import dynamodb_document_writes
from opencrab.adapters.dynamodb.item import Item, Schema, item_time_to_live
from opencrab.adapters.dynamodb.money.budget_item import dynamodb_budget_draw_write
from opencrab.adapters.dynamodb.table import (
    Cancelled,
    Table,
    Write,
    item_absent,
    put_item,
)
from opencrab.adapters.dynamodb.usage.counters import dynamodb_tally_correction
from opencrab.domain.document import Document
from opencrab.domain.errors import NotFound, Unavailable
from opencrab.domain.money.budget import BudgetDraw
from opencrab.domain.usage.counters import usage_tally_correction
from opencrab.domain.usage.ledger import (
    Judgement,
    Settlement,
    UsageRow,
    is_usage_row_id,
    usage_row_id_bounds,
)
from opencrab.ports.clock import Clock
from opencrab.ports.documents import stale_document_error

SCHEMA = Schema("usage row")
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
"""Before it there was no OpenCrab, and so no row."""

JUDGING = 4
"""Tries to judge an answer."""

_SKEW = timedelta(days=1)
"""How far the clocks of two machines are certainly not apart."""


class DynamoUsage:
    """`ports.usage.ledger.UsageLedger` on a DynamoDB table, one partition per agent and month.

    There is no index of an agent's months: rows are written with every model call and read seldom.
    Months are queried back to the agent's first, or forward from it, until enough rows are found.
    Rows expire `calls_kept` after their call; None is never.
    """

    def __init__(self, table: Table, clock: Clock, *, calls_kept: timedelta | None = None) -> None:
        self._table = table
        self._clock = clock
        self._calls_kept = calls_kept

    def rows(
        self,
        agent_id: str,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        after: str | None = None,
        limit: int = 100,
        oldest_first: bool = False,
    ) -> tuple[UsageRow, ...]:
        low, high = usage_row_id_bounds(since, until, after, oldest_first=oldest_first)
        found: list[Item] = []
        if low >= high or limit <= 0:
            return ()
        months = self._months(agent_id, since, high)
        if oldest_first:
            months = self._months_up(agent_id, since, after, high)
        for month in months:
            partition, left = f"USAGE#{agent_id}#{month}", limit - len(found)
            found += self._of(partition, (low, high), left, newest_first=not oldest_first)
            if len(found) >= limit:
                break
        return tuple(map(usage_row_from_dynamodb_item, found))

    def row(self, agent_id: str, row_id: str) -> UsageRow:
        return usage_row_from_dynamodb_item(self._item(agent_id, row_id))

    def judge(self, agent_id: str, row_id: str, judgement: Judgement) -> UsageRow:
        return self._changed(agent_id, row_id, lambda row: row.with_judgement(judgement))

    def redact_evaluation(self, agent_id: str, row_id: str) -> None:
        self._changed(agent_id, row_id, UsageRow.without_evaluation)

    def settle(
        self,
        agent_id: str,
        row_id: str,
        settlement: Settlement,
        *,
        draws: tuple[BudgetDraw, ...] = (),
        facts: tuple[Document, ...] = (),
    ) -> UsageRow:
        def settled(row: UsageRow) -> UsageRow:
            return row.with_settlement(settlement)

        return self._changed(agent_id, row_id, settled, draws=draws, facts=facts)

    def _changed(
        self,
        agent_id: str,
        row_id: str,
        change: Callable[[UsageRow], UsageRow],
        *,
        draws: tuple[BudgetDraw, ...] = (),
        facts: tuple[Document, ...] = (),
    ) -> UsageRow:
        for tries in range(JUDGING):
            if tries:
                self._table.back_off(tries)
            item = self._item(agent_id, row_id)
            row = usage_row_from_dynamodb_item(item)
            changed = change(row)
            if changed == row:
                return row
            tally = usage_tally_correction(row, changed)
            # Somebody may be faster, or the network may carry this very write twice.
            as_read = Path("body") == item["body"]["S"]
            kept = usage_row_to_dynamodb_item(changed, self._calls_kept)
            writes = [put_item(kept, as_read)]
            writes += dynamodb_document_writes(facts)
            writes += [dynamodb_budget_draw_write(draw, row.at) for draw in draws]
            writes += [dynamodb_tally_correction(tally, row)] if tally.counts else []
            try:
                self._table.transact(*writes)
            except Cancelled as refusal:
                for place, fact in enumerate(facts, 1):
                    if 0 not in refusal.failed and place in refusal.failed:
                        raise stale_document_error(fact) from None
                continue
            return changed
        raise _too_many_updates(row_id)

    def _item(self, agent_id: str, row_id: str) -> Item:
        possible = is_usage_row_id(row_id)
        item = self._table.get(_partition(agent_id, row_id), row_id) if possible else None
        if item is None:
            raise NotFound(
                f"agent {agent_id!r} has no usage row {row_id!r}",
                cure="use the id of another row, or omit it",
            )
        return item

    def _of(
        self, partition: str, bounds: tuple[str, str], limit: int, *, newest_first: bool
    ) -> list[Item]:
        low, high = bounds
        # One more, because the bound itself does not count and a query would count it.
        items = self._table.query(partition, low, high, limit=limit + 1, newest_first=newest_first)
        return [item for item in items if item["sk"]["S"] != high][:limit]

    def _months(self, agent_id: str, since: datetime | None, high: str) -> Iterator[str]:
        """Yield the months that may hold rows below `high`, newest first."""
        newest = self._newest(high)
        yield _name(newest)
        first = self._first(agent_id, _number(since or BEGINNING), newest)
        yield from map(_name, range(newest - 1, first - 1, -1))

    def _months_up(
        self, agent_id: str, since: datetime | None, after: str | None, high: str
    ) -> Iterator[str]:
        """Yield the months that may hold rows after `after` and below `high`, oldest first."""
        newest = self._newest(high)
        asked = max(_number(since or BEGINNING), _month_of(after) if after else 0)
        yield from map(_name, range(self._first(agent_id, asked, newest), newest + 1))

    def _newest(self, high: str) -> int:
        return min(_month_of(high), _number(self._clock.now() + _SKEW))

    def _first(self, agent_id: str, asked: int, newest: int) -> int:
        """Return the first month to query.

        The agent is read only if several months are asked for.
        """
        if newest <= asked:
            return asked
        created = agent_item_created_at(self._table, agent_id)
        return max(asked, _number(BEGINNING if created is None else created - _SKEW))


def usage_row_to_dynamodb_item(row: UsageRow, kept: timedelta | None = None) -> Item:
    """Serialize a usage row to an item; the agent's id is in the key only."""
    body = row.to_stored(exclude={"agent_id"}, exclude_defaults=True)
    expires = None if kept is None else item_time_to_live(row.at.astimezone(UTC) + kept)
    return SCHEMA.encode_item(
        _partition(row.agent_id, row.id), row.id, {"body": body, "ttl": expires}
    )


def usage_row_from_dynamodb_item(item: Item) -> UsageRow:
    """Deserialize a usage row from an item."""
    fields = SCHEMA.decode_item(item)
    agent_id, _, _month = fields["pk"].removeprefix("USAGE#").rpartition("#")
    return UsageRow.from_stored(json.loads(fields["body"]) | {"agent_id": agent_id})


def put_usage_row_in_dynamodb(row: UsageRow, kept: timedelta | None = None) -> Write:
    """Return the write that stores a usage row, on condition that it does not exist."""
    return put_item(usage_row_to_dynamodb_item(row, kept), item_absent())


def _too_many_updates(row_id: str) -> Unavailable:
    return Unavailable(
        f"usage row {row_id!r} has too many concurrent updates; retries exhausted",
        cure="try again in a few seconds",
    )


def _partition(agent_id: str, row_id: str) -> str:
    return f"USAGE#{agent_id}#{row_id[:4]}-{row_id[4:6]}"


def _number(moment: datetime) -> int:
    at = moment.astimezone(UTC)
    return at.year * 12 + at.month - 1


def _month_of(high: str) -> int:
    """Return the month number of a row id bound; an open bound is after all months."""
    return int(high[:4]) * 12 + int(high[4:6]) - 1 if high[:1].isdigit() else 10_000 * 12


def _name(number: int) -> str:
    year, month = divmod(number, 12)
    return f"{year:04d}-{month + 1:02d}"
