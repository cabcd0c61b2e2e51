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


class DynamoBudgets:
    """`ports.money.budgets.Budgets` on a DynamoDB table."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def drawn_micro_usd(self, scope: str, day: str) -> MicroUsd:
        item = self._table.get(_partition(scope), day)
        return 0 if item is None else int(SCHEMA.decode_item(item)["drawn"])

    def limits(self) -> dict[str, MicroUsd]:
        return read_dynamodb_budgets(self._table).limits()

    def change_limits(self, changes: Mapping[str, MicroUsd | None]) -> None:
        checked = budget_limit_changes(changes)
        if checked:
            self._table.write(dynamodb_budget_limits_write(checked))


def refused_dynamodb_draw_error(draw: BudgetDraw, stored: Item | None) -> Exhausted:
    """Return Exhausted for a draw whose condition failed, with the amount drawn before."""
    drawn = None if stored is None else int(SCHEMA.decode_item(stored)["drawn"])
    return budget_exhausted_error(draw, drawn)


def dynamodb_budget_draw_write(draw: BudgetDraw, at: datetime) -> Write:
    """Return the update of a day's budget; raise Exhausted if the draw alone exceeds the limit."""
    values = {"schema": SCHEMA.version, "ttl": item_time_to_live(at.astimezone(UTC) + LIFE)}
    change = Update(*(Path(name).set(value) for name, value in values.items()))
    change.add_action(Path("drawn").add(draw.micro_usd))
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


def _partition(scope: str) -> str:
    return f"BUDGET#{scope}"
