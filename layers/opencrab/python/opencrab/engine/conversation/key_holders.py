"""Holders of keys: who is at the other end of a live connection, and what they may still watch."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from opencrab.domain.access.principal import Principal
from opencrab.domain.errors import Unauthenticated
from opencrab.engine.conversation.live import WatchTarget, may_watch_conversation
from opencrab.engine.runtime import Runtime
from opencrab.ports.access.keys import Keys

KEY_BELIEVED = timedelta(seconds=45)
"""Time for which a key is cached; with a check each 15 s that is a minute at most."""


@dataclass
class KeyHolders:
    """A cache of the principals of keys and of what they may watch.

    An entry older than KEY_BELIEVED is loaded again.
    """

    runtime: Runtime
    known: dict[str, tuple[Principal, datetime]] = field(default_factory=dict)
    watching: dict[tuple[str, WatchTarget], tuple[bool, datetime]] = field(default_factory=dict)

    def get(self, key: str) -> Principal:
        """Return the principal of a key; raise Unauthenticated soon after it was revoked."""
        now = self.runtime.clock.now()
        found = self.known.get(key)
        if found is None or now - found[1] >= KEY_BELIEVED:
            self.known.pop(key, None)
            found = self.known[key] = (
                conversation_connection_holder(self.runtime.home.keys, key),
                now,
            )
        return found[0]

    def may_watch(self, key: str, watched: WatchTarget) -> bool:
        """Check whether the principal of a key may watch this; raise Unauthenticated as `get`.

        False soon after the principal was removed from the session.
        """
        principal, now = self.get(key), self.runtime.clock.now()
        found = self.watching.get((key, watched))
        if found is None or now - found[1] >= KEY_BELIEVED:
            self._forget_old(now)
            found = may_watch_conversation(self.runtime.home, principal, watched), now
            self.watching[key, watched] = found
        return found[0]

    def _forget_old(self, now: datetime) -> None:
        """Remove old entries, so that a long-lived process does not collect them."""
        # Several threads of one pusher share this cache.
        for each, (_, at) in list(self.watching.items()):
            if now - at >= KEY_BELIEVED:
                self.watching.pop(each, None)


def conversation_connection_holder(keys: Keys, key: str) -> Principal:
    """Return the principal of the key with this hash; raise Unauthenticated without one."""
    found = keys.find(key)
    if found is None or found.revoked_at is not None:
        raise Unauthenticated(
            "this API key is unknown or revoked", cure="send a valid key, or create a new one"
        )
    return found.principal
