"""API keys, by the hash of their secret."""

from datetime import datetime
from typing import Protocol

from opencrab.domain.access.principal import ApiKey


class Keys(Protocol):
    """A store of API keys."""

    def put(self, key: ApiKey) -> None:
        """Store a key; raises Conflict if another key has the same hash."""

    def find(self, digest: str) -> ApiKey | None:
        """Return the key with this hash, revoked or not, or None."""

    def list(self) -> tuple[ApiKey, ...]:
        """Return all keys, oldest first."""

    def revoke(self, key_id: str, now: datetime, *, keep_last_owner: bool = True) -> ApiKey:
        """Revoke a key; raises NotFound, and Conflict for the last owner key that is valid.

        Of the last two, only one is revoked also where both are revoked at the same time. Without
        `keep_last_owner` the last one is revoked as well: there is an owner elsewhere.
        """
