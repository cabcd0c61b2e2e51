"""The pulse in the table: when the heartbeat came last, for whoever asks how things are."""

from datetime import datetime

from opencrab.adapters.dynamodb.item import Schema, from_item_microseconds, to_item_microseconds
from opencrab.adapters.dynamodb.table import Table, put_item

SCHEMA = Schema("pulse")
PARTITION, PULSE = "PULSE", "P"


class DynamoPulse:
    """The time of the last completed heartbeat sweep."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def beat(self, now: datetime) -> None:
        """Record that the heartbeat sweep completed."""
        self._table.write(
            put_item(SCHEMA.encode_item(PARTITION, PULSE, {"at": to_item_microseconds(now)}))
        )

    def last(self) -> datetime | None:
        """Return when the last sweep completed; None if none ever did."""
        item = self._table.get(PARTITION, PULSE, consistent=False)
        return None if item is None else from_item_microseconds(SCHEMA.decode_item(item)["at"])
