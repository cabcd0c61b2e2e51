"""Where sessions are kept."""

from datetime import datetime
from typing import Protocol

from opencrab.domain.conversation.session import Session


class Sessions(Protocol):
    """Sessions; turns change them through the journal only."""

    def create(self, session: Session) -> Session:
        """Create a session; the same id with the same participants is answered as it is."""

    def get(self, session_id: str) -> Session:
        """Read a session; raises NotFound."""

    def page(self, *, after: str | None, limit: int) -> tuple[Session, ...]:
        """Sessions in order of their ids, after the given one."""

    def set_participants(
        self, session_id: str, agent_ids: tuple[str, ...], now: datetime
    ) -> Session:
        """Let these take part from now on, in this order; who took part already keeps their part.

        Raises NotFound, and Conflict when the session has ended.
        """

    def end(self, session_id: str, now: datetime) -> Session:
        """End a session; ending it again changes nothing. Raises NotFound."""
