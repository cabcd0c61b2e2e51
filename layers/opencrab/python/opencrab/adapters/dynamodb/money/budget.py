"""Budgets in the table: counters that no draw can push over their limit."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from pynamodb.expressions.operand import Path
from pynamodb.expressions.update import Update

from opencrab.adapters.dynamodb.item import Item, Schema, item_time_to_live
from opencrab.adapters.dynamodb.money.board import (
    dynamodb_budget_limits_write,
    read_dynamodb_budgets,
)
from opencrab.adapters.dynamodb.table import Table, Write, update_item
from opencrab.domain.errors import Exhausted
from opencrab.domain.money.budget import BudgetDraw, budget_exhausted_error, budget_limit_changes
from opencrab.domain.value import MicroUsd

SCHEMA = Schema("budget")
LIFE = timedelta(days=400)
LEASED = "leased"
"""The attribute with what leases may hold of what was drawn (`dynamodb/money/lease.py`)."""

_NEWEST_SLICE = "slice"
_SHOWN_LEASES = 100


class LeaseReturned(Exception):
    """A budget lease holds less than its process knew; `item` is what is stored of it."""

    def __init__(self, item: Item | None) -> None:
        super().__init__("the budget lease was returned")
        self.item = item


class DynamoBudgets:
    """`ports.money.budgets.Budgets` on a DynamoDB table."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def drawn_micro_usd(self, scope: str, day: str) -> MicroUsd:
        item = self._table.get(_partition(scope), day)
        if item is None:
            return 0
        fields = SCHEMA.decode_item(item)
        drawn = int(fields["drawn"])
        return drawn - self._unspent(scope, day) if fields.get(LEASED) else drawn

    def return_unspent(self, now: datetime) -> int:
        from opencrab.adapters.dynamodb.money import lease  # noqa: PLC0415 - for the sweep alone

        return lease.return_lapsed_dynamodb_leases(self._table, now)

    def limits(self) -> dict[str, MicroUsd]:
        return read_dynamodb_budgets(self._table).limits()

    def change_limits(self, changes: Mapping[str, MicroUsd | None]) -> None:
        checked = budget_limit_changes(changes)
        if checked:
            self._table.write(dynamodb_budget_limits_write(checked))

    def _unspent(self, scope: str, day: str) -> MicroUsd:
        """Return what leases hold of a day; 0 if there are too many of them to read."""
        from opencrab.adapters.dynamodb.money import lease  # noqa: PLC0415 - where leases are used

        leases = list(lease.list_dynamodb_leases(self._table, _SHOWN_LEASES + 1))
        if len(leases) > _SHOWN_LEASES:
            return 0
        return sum(lease.left_in_dynamodb_lease(item, scope, day) for item in leases)


def refused_dynamodb_draw_error(draw: BudgetDraw, stored: Item | None) -> Exhausted:
    """Return Exhausted for a draw whose condition failed, with the amount drawn before."""
    drawn = None if stored is None else int(SCHEMA.decode_item(stored)["drawn"])
    return budget_exhausted_error(draw, drawn)


def dynamodb_budget_draw_write(draw: BudgetDraw, at: datetime) -> Write:
    """Return the update of a day's budget; raise Exhausted if the draw alone exceeds the limit."""
    change = _budget_change(draw.micro_usd, at)
    limit = draw.limit_micro_usd
    if limit is None or draw.micro_usd <= 0:
        return update_item(_partition(draw.scope), draw.day, change)
    # The sum cannot be a condition, but what was drawn before can: no two draws at the same time
    # go over the limit together. What is given back has no condition (ADR 0008).
    room = limit - draw.micro_usd
    if room < 0:
        raise budget_exhausted_error(draw)
    fits = Path("drawn").does_not_exist() | (Path("drawn") <= room)
    return update_item(_partition(draw.scope), draw.day, change, fits)


def dynamodb_budget_slice_write(
    draw: BudgetDraw,
    micro_usd: MicroUsd,
    held: MicroUsd,
    *,
    pool: MicroUsd,
    nonce: str,
    at: datetime,
) -> Write:
    """Return the update that takes a slice for a lease, `held` of it out of the pool of leases.

    Its condition holds only once, so that the SDK may repeat it after a lost answer.
    """
    change = _budget_change(micro_usd, at)
    change.add_action(Path(_NEWEST_SLICE).set(nonce))
    drawn, leased = Path("drawn"), Path(LEASED)
    fits = drawn.does_not_exist() | (drawn <= (draw.limit_micro_usd or 0) - micro_usd)
    newest = Path(_NEWEST_SLICE)
    fits &= newest.does_not_exist() | (newest != nonce)
    if held:
        change.add_action(leased.add(held))
        fits &= leased.does_not_exist() | (leased <= pool - held)
    return update_item(_partition(draw.scope), draw.day, change, fits)


def is_own_slice(item: Item | None, nonce: str) -> bool:
    """Check whether the refused update of a slice had been carried out before."""
    return item is not None and SCHEMA.decode_item(item).get(_NEWEST_SLICE) == nonce


def dynamodb_budget_return_write(
    scope: str, day: str, micro_usd: MicroUsd, held: MicroUsd, at: datetime
) -> Write:
    """Return the update that gives a lease's rest back to a budget, and its part of the pool."""
    change = _budget_change(-micro_usd, at)
    if held:
        change.add_action(Path(LEASED).add(-held))
    return update_item(_partition(scope), day, change)


def _budget_change(micro_usd: MicroUsd, at: datetime) -> Update:
    values = {"schema": SCHEMA.version, "ttl": item_time_to_live(at.astimezone(UTC) + LIFE)}
    change = Update(*(Path(name).set(value) for name, value in values.items()))
    change.add_action(Path("drawn").add(micro_usd))
    return change


def _partition(scope: str) -> str:
    return f"BUDGET#{scope}"
