"""Where sessions are kept."""

from datetime import datetime
from typing import Protocol

from opencrab.domain.access.session_access import SessionAccess
from opencrab.domain.conversation.session import Session


class Sessions(Protocol):
    """A store of sessions; turns change them through the journal only."""

    def create(self, session: Session) -> Session:
        """Create a session; one with the same id and participants is returned unchanged."""

    def get(self, session_id: str) -> Session:
        """Read a session; raises NotFound."""

    def get_with_access(self, session_id: str) -> tuple[Session, SessionAccess]:
        """Read a session and who it is shared with, in one read; raises NotFound."""

    def page(self, *, after: str | None, limit: int) -> tuple[Session, ...]:
        """Return sessions in order of their ids, after the given one."""

    def set_participants(
        self, session_id: str, agent_ids: tuple[str, ...], now: datetime
    ) -> Session:
        """Set the participants, in this order; those who took part already keep their data.

        Raises NotFound, and Conflict if the session has ended.
        """

    def rename(self, session_id: str, name: str | None) -> Session:
        """Name a session, or with None no longer; an ended one too. Raises NotFound."""

    def end(self, session_id: str, now: datetime) -> Session:
        """End a session; ending it again changes nothing. Raises NotFound."""
