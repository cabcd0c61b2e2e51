"""Work for later."""

from datetime import datetime
from typing import Protocol

from opencrab.domain.turn.due_item import DueItem


class DueItems(Protocol):
    """Due items; a turn that starts another writes one, and the sweep admits it."""

    def put(self, item: DueItem) -> None:
        """Keep an item, once by id."""

    def due(self, now: datetime, limit: int) -> tuple[DueItem, ...]:
        """Items whose time has come, oldest first."""

    def done(self, item_id: str) -> None:
        """Forget an item; an unknown one is ignored."""
