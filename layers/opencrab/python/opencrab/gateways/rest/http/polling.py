"""Watch: how the two async edges sleep until something may have changed in a session."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

NextChange = Callable[[float], Awaitable[bool | None]]
"""Sleeps until something may have changed since it returned last, at most so many seconds.

True means that the server ends: whoever waits answers with what there is.
"""

POLL_SECONDS = 0.5

EVERY = "*"
"""Watched like a session, it stands for all of them: no session has such an id."""


class Watch(Protocol):
    """Tells when a session may have changed; it never says what, so that nothing can be missed."""

    def watching(self, session_id: str) -> AbstractAsyncContextManager[NextChange]:
        """Notice changes from here on: one that comes between two sleeps ends the next at once.

        Whoever enters first and looks afterwards misses nothing. A sleep may end without a change.
        """


class PollingWatch:
    """A watch for homes that wake nobody, like AWS: it lets the waiter look again and again."""

    def __init__(self, seconds: float = POLL_SECONDS) -> None:
        self._seconds = seconds

    @asynccontextmanager
    async def watching(self, session_id: str) -> AsyncIterator[NextChange]:  # noqa: ARG002
        """See Watch; every session is looked at equally often."""

        async def next_change(seconds: float) -> None:
            await asyncio.sleep(min(seconds, self._seconds))

        yield next_change
