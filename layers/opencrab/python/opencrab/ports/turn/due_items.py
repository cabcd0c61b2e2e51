"""Work for later."""

from datetime import datetime
from typing import Protocol

from opencrab.domain.turn.due_item import DueItem


class DueItems(Protocol):
    """A store of due items; a turn that starts another one writes an item, the sweep admits it."""

    def put(self, item: DueItem) -> None:
        """Store an item, once by id."""

    def list_due(self, now: datetime, limit: int) -> tuple[DueItem, ...]:
        """Return the items that are due, oldest first."""

    def get(self, item_id: str) -> DueItem | None:
        """Return an item by its id; None if there is none."""

    def remove(self, item_id: str) -> None:
        """Remove an item; an unknown one is ignored."""
