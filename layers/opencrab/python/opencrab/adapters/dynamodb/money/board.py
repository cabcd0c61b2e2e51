"""The board in the table: one item, so that one read before each model call tells all.

On it are the switches, the limits that were set at run time, how providers fare, and the version of
the settings. It also tells when the newest instruction was given, so that the inbox of a session,
which is nearly always empty, is asked only when there may be something in it.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from pynamodb.expressions.operand import Path
from pynamodb.expressions.update import Update

from opencrab.adapters.dynamodb.item import (
    Fields,
    Schema,
    from_item_microseconds,
    to_item_microseconds,
)
from opencrab.adapters.dynamodb.table import Table, Write, dynamodb_attribute_changes, update_item
from opencrab.domain.models.health import BreakerState
from opencrab.domain.money.budget import INSTALLATION
from opencrab.domain.value import MicroUsd

SCHEMA = Schema("switch")
PARTITION, SWITCH = "SWITCH", "S"
HEALTH = "health#"
"""Before a provider's name: an attribute for each, so that each can be put under its condition.

An entry of a map could not: no update makes a map and an entry of it.
"""
LIMIT = "limit#"
"""Before the name of a limit that was set: an attribute for each, so that no change meets another.
"""

SKEW = timedelta(minutes=5)
"""How far the clocks of two machines may be apart."""


class DynamoSwitchboard:
    """Freezes, limits, provider health and settings version, from one read of the item."""

    def __init__(self, fields: Fields) -> None:
        self._fields = fields
        self.settings_version: int = fields.get("settings_version", 0)

    def first_frozen_scope(self, *scopes: str) -> str | None:
        """Return the first of these scopes that is frozen; None if none is."""
        return next((scope for scope in scopes if scope in self.all_frozen()), None)

    def all_frozen(self) -> set[str]:
        """Return every frozen scope."""
        frozen: set[str] = self._fields.get("frozen", set())
        return frozen

    def limits(self) -> dict[str, MicroUsd]:
        """Return the limits that were set at run time, by name, in micro-dollars."""
        return {
            name.removeprefix(LIMIT): int(limit)
            for name, limit in self._fields.items()
            if name.startswith(LIMIT)
        }

    def health(self) -> dict[str, BreakerState]:
        """Return the circuit breaker state of every provider that has one."""
        return {
            name.removeprefix(HEALTH): BreakerState.from_stored(body)
            for name, body in self._fields.items()
            if name.startswith(HEALTH)
        }

    def instructed_since(self, since: datetime) -> bool:
        """Check whether any session may have received an instruction since a time."""
        at = self._fields.get("instructed_at")
        return at is not None and from_item_microseconds(at) >= since - SKEW


class DynamoSwitches:
    """`ports.money.switches.Switches` on a DynamoDB table."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def set(self, scope: str, *, frozen: bool) -> None:
        scopes = {"SS": [scope]}
        path = Path("frozen")
        change = path.add(scopes) if frozen else path.delete(scopes)
        self._table.write(
            update_item(PARTITION, SWITCH, Update(change, Path("schema").set(SCHEMA.version)))
        )

    def is_frozen(self, scope: str) -> bool:
        return read_dynamodb_budgets(self._table).first_frozen_scope(scope) is not None

    def all_frozen(self) -> tuple[str, ...]:
        return tuple(sorted(read_dynamodb_budgets(self._table).all_frozen()))


def read_dynamodb_budgets(table: Table) -> DynamoSwitchboard:
    """Read the item with a strongly consistent read."""
    item = table.get(PARTITION, SWITCH)
    return DynamoSwitchboard({} if item is None else SCHEMA.decode_item(item))


def dynamodb_instruction_time_write(at: datetime) -> Write:
    """Return the write that records the time of the newest instruction."""
    return _noting(instructed_at=to_item_microseconds(at))


def dynamodb_budget_limits_write(changes: Mapping[str, MicroUsd | None]) -> Write:
    """Return the write that sets limits; None restores the configured limit."""
    return _noting(**{f"{LIMIT}{name}": limit for name, limit in changes.items()})


def dynamodb_settings_version_write(version: int) -> Write:
    """Return the write that records the newest version of the settings."""
    return _noting(settings_version=version)


def dynamodb_freeze_scopes(agent_id: str) -> tuple[str, str]:
    """Return the scopes whose freeze applies to an agent."""
    return INSTALLATION, agent_id


def _noting(**noted: str | int | None) -> Write:
    return update_item(
        PARTITION, SWITCH, dynamodb_attribute_changes({**noted, "schema": SCHEMA.version})
    )
