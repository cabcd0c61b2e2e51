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
    """A source of wake-ups when a session may have changed; it does not say what changed."""

    def watching(
        self, session_id: str, *, settled: bool = False
    ) -> AbstractAsyncContextManager[NextChange]:
        """Notice changes within the block: one between two sleeps ends the next sleep at once.

        Enter the block before the first read, so that no change is missed. A sleep may end without
        a change. With `settled` only the end of a turn counts, or that it waits for a person.
        """


class PollingWatch:
    """A watch by polling, for homes without notifications such as AWS."""

    def __init__(self, seconds: float = POLL_SECONDS) -> None:
        self._seconds = seconds

    @asynccontextmanager
    async def watching(
        self,
        session_id: str,  # noqa: ARG002
        *,
        settled: bool = False,  # noqa: ARG002
    ) -> AsyncIterator[NextChange]:
        """Implement Watch; every session is polled at the same interval."""

        async def next_change(seconds: float) -> None:
            await asyncio.sleep(min(seconds, self._seconds))

        yield next_change
