"""The switches in the table: one item, so that one read before each model call tells all.

The same read tells when the newest instruction was given, so that the inbox of a session, which is
nearly always empty, is asked only when there may be something in it.
"""

from datetime import datetime, timedelta

from pynamodb.expressions.operand import Path
from pynamodb.expressions.update import Update

from opencrab.adapters.dynamodb.item import Schema, microseconds, moment
from opencrab.adapters.dynamodb.table import Table, Write, update
from opencrab.domain.money import INSTALLATION

SCHEMA = Schema("switch")
PARTITION, SWITCH = "SWITCH", "S"
SKEW = timedelta(minutes=5)
"""How far the clocks of two machines may be apart."""


class Switchboard:
    """What one read of the item told."""

    def __init__(self, frozen: set[str], instructed_at: datetime | None) -> None:
        self._frozen = frozen
        self._instructed_at = instructed_at

    def frozen(self, *scopes: str) -> str | None:
        """The first of these scopes that is frozen."""
        return next((scope for scope in scopes if scope in self._frozen), None)

    def instructed_since(self, moment: datetime) -> bool:
        """Whether any session may have been instructed since then."""
        return self._instructed_at is not None and self._instructed_at >= moment - SKEW


class DynamoSwitches:
    """`ports.switches.Switches` on the table."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def set(self, scope: str, *, frozen: bool) -> None:
        scopes = {"SS": [scope]}
        path = Path("frozen")
        change = path.add(scopes) if frozen else path.delete(scopes)
        self._table.write(
            update(PARTITION, SWITCH, Update(change, Path("schema").set(SCHEMA.version)))
        )

    def frozen(self, scope: str) -> bool:
        return read(self._table).frozen(scope) is not None


def read(table: Table) -> Switchboard:
    """All switches, strongly consistent."""
    item = table.get(PARTITION, SWITCH)
    fields = {} if item is None else SCHEMA.fields(item)
    instructed_at = fields.get("instructed_at")
    return Switchboard(
        fields.get("frozen", set()), None if instructed_at is None else moment(instructed_at)
    )


def instructed(at: datetime) -> Write:
    """Note that an instruction was given."""
    at_path = Path("instructed_at").set(microseconds(at))
    return update(PARTITION, SWITCH, Update(at_path, Path("schema").set(SCHEMA.version)))


def scopes_of(agent_id: str) -> tuple[str, str]:
    """Whose switches an agent obeys."""
    return INSTALLATION, agent_id
