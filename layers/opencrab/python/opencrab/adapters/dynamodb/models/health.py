"""How providers fare, on the board that every turn reads before its next model call."""

from opencrab.adapters.dynamodb.item import to_dynamodb_attribute
from opencrab.adapters.dynamodb.money.board import (
    HEALTH,
    PARTITION,
    SCHEMA,
    SWITCH,
    read_dynamodb_budgets,
)
from opencrab.adapters.dynamodb.table import ConditionFailed, Table, Write, item_key
from opencrab.domain.models.health import BreakerState


class DynamoHealths:
    """`ports.models.health.ProviderHealths` on a DynamoDB table."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def all(self) -> dict[str, BreakerState]:
        return read_dynamodb_budgets(self._table).health()

    def put(self, provider: str, health: BreakerState, before: BreakerState | None) -> bool:
        values = {":health": health.to_stored()}
        condition = "attribute_not_exists(#health)"
        if before is not None:
            values[":before"] = before.to_stored()
            condition = "#health = :before"
        try:
            self._table.write(_update(provider, "SET #health = :health, ", values, condition))
        except ConditionFailed:
            return False
        return True

    def forget(self, provider: str) -> None:
        self._table.write(_update(provider, "REMOVE #health SET ", {}))


def _update(provider: str, change: str, values: dict[str, str], condition: str = "") -> Write:
    """Return the update of one provider's attribute; the name is only a placeholder's value."""
    arguments = {
        "Key": item_key(PARTITION, SWITCH),
        "UpdateExpression": f"{change}#schema = :schema",
        "ExpressionAttributeNames": {"#health": f"{HEALTH}{provider}", "#schema": "schema"},
        "ExpressionAttributeValues": {
            name: to_dynamodb_attribute(value)
            for name, value in {**values, ":schema": SCHEMA.version}.items()
        },
    }
    if condition:
        arguments["ConditionExpression"] = condition
    return Write("Update", arguments)
