"""API keys, by the hash of their secret."""

from datetime import datetime
from typing import Protocol

from opencrab.domain.access.principal import ApiKey


class Keys(Protocol):
    """API keys."""

    def put(self, key: ApiKey) -> None:
        """Keep a key; raises Conflict when another key has the same hash."""

    def find(self, digest: str) -> ApiKey | None:
        """The key with this hash, revoked or not."""

    def list(self) -> tuple[ApiKey, ...]:
        """All keys, oldest first."""

    def revoke(self, key_id: str, now: datetime) -> ApiKey:
        """Revoke a key; raises NotFound."""
