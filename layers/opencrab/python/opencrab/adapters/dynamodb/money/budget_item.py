"""Budgets as items: counters that no draw and no slice can push over their limit."""

from datetime import UTC, datetime, timedelta

from pynamodb.expressions.operand import Path
from pynamodb.expressions.update import Update

from opencrab.adapters.dynamodb.item import Item, Schema, item_time_to_live
from opencrab.adapters.dynamodb.table import Write, update_item
from opencrab.domain.errors import Exhausted
from opencrab.domain.money.budget import BudgetDraw, budget_exhausted_error
from opencrab.domain.value import MicroUsd

SCHEMA = Schema("budget")
LIFE = timedelta(days=400)
LEASED = "leased"
"""The attribute with what leases may hold of what was drawn (`dynamodb/money/lease.py`)."""

_NEWEST_SLICE = "slice"


class LeaseReturned(Exception):
    """A budget lease holds less than its process knew; `item` is what is stored of it."""

    def __init__(self, item: Item | None) -> None:
        super().__init__("the budget lease was returned")
        self.item = item


def refused_dynamodb_draw_error(draw: BudgetDraw, stored: Item | None) -> Exhausted:
    """Return Exhausted for a draw whose condition failed, with the amount drawn before."""
    drawn = None if stored is None else int(SCHEMA.decode_item(stored)["drawn"])
    return budget_exhausted_error(draw, drawn)


def dynamodb_budget_draw_write(draw: BudgetDraw, at: datetime) -> Write:
    """Return the update of a day's budget; raise Exhausted if the draw alone exceeds the limit."""
    change = _budget_change(draw.micro_usd, at)
    limit = draw.limit_micro_usd
    if limit is None or draw.micro_usd <= 0:
        return update_item(dynamodb_budget_partition(draw.scope), draw.day, change)
    # The sum cannot be a condition, but what was drawn before can: no two draws at the same time
    # go over the limit together. What is given back has no condition (ADR 0008).
    room = limit - draw.micro_usd
    if room < 0:
        raise budget_exhausted_error(draw)
    fits = Path("drawn").does_not_exist() | (Path("drawn") <= room)
    return update_item(dynamodb_budget_partition(draw.scope), draw.day, change, fits)


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
    return update_item(dynamodb_budget_partition(draw.scope), draw.day, change, fits)


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
    return update_item(dynamodb_budget_partition(scope), day, change)


def _budget_change(micro_usd: MicroUsd, at: datetime) -> Update:
    values = {"schema": SCHEMA.version, "ttl": item_time_to_live(at.astimezone(UTC) + LIFE)}
    change = Update(*(Path(name).set(value) for name, value in values.items()))
    change.add_action(Path("drawn").add(micro_usd))
    return change


def dynamodb_budget_partition(scope: str) -> str:
    """Return the partition key of a budget's days."""
    return f"BUDGET#{scope}"
