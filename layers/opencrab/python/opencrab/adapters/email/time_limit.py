"""Time limit of a connection as a whole: a server that sends a byte now and then gains nothing.

A socket's own timeout is for one byte, and begins anew with each.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from socket import SHUT_RDWR, socket
from threading import Timer


class TimeLimit:
    """Shuts a connection down whose time is over: whoever reads or writes then fails at once."""

    def __init__(self) -> None:
        self.is_over = False
        self._connection: socket | None = None

    def watch(self, connection: socket) -> None:
        """Take on the connection that was made; later calls change nothing."""
        if self._connection is None:
            # One of our own: what begins encryption takes the socket's number away.
            self._connection = socket(fileno=os.dup(connection.fileno()))
            if self.is_over:
                self._end()

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Allow what is done meanwhile so many seconds."""
        timer = Timer(seconds, self._end)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def close(self) -> None:
        """Let the connection go."""
        if self._connection is not None:
            self._connection.close()

    def _end(self) -> None:
        self.is_over = True
        if self._connection is not None:
            with suppress(OSError):
                self._connection.shutdown(SHUT_RDWR)
