"""Budgets in the table, as people read and change them."""

from collections.abc import Mapping
from datetime import datetime

from opencrab.adapters.dynamodb.money.board import (
    dynamodb_budget_limits_write,
    read_dynamodb_budgets,
)
from opencrab.adapters.dynamodb.money.budget_item import (
    LEASED,
    SCHEMA,
    dynamodb_budget_partition,
)
from opencrab.adapters.dynamodb.table import Table
from opencrab.domain.money.budget import budget_limit_changes
from opencrab.domain.value import MicroUsd

_SHOWN_LEASES = 100


class DynamoBudgets:
    """`ports.money.budgets.Budgets` on a DynamoDB table."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def drawn_micro_usd(self, scope: str, day: str) -> MicroUsd:
        item = self._table.get(dynamodb_budget_partition(scope), day)
        if item is None:
            return 0
        fields = SCHEMA.decode_item(item)
        drawn = int(fields["drawn"])
        return drawn - self._unspent(scope, day) if fields.get(LEASED) else drawn

    def return_unspent(self, now: datetime) -> int:
        from opencrab.adapters.dynamodb.money import lease  # noqa: PLC0415 - not every process

        return lease.return_lapsed_dynamodb_leases(self._table, now)

    def limits(self) -> dict[str, MicroUsd]:
        return read_dynamodb_budgets(self._table).limits()

    def change_limits(self, changes: Mapping[str, MicroUsd | None]) -> None:
        checked = budget_limit_changes(changes)
        if checked:
            self._table.write(dynamodb_budget_limits_write(checked))

    def _unspent(self, scope: str, day: str) -> MicroUsd:
        """Return what leases hold of a day; 0 if there are too many of them to read."""
        from opencrab.adapters.dynamodb.money import lease  # noqa: PLC0415 - not every process

        leases = list(lease.list_dynamodb_leases(self._table, _SHOWN_LEASES + 1))
        if len(leases) > _SHOWN_LEASES:
            return 0
        return sum(lease.left_in_dynamodb_lease(item, scope, day) for item in leases)
