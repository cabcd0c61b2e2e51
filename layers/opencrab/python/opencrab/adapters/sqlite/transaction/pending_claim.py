"""Messages that workers of this process took, until the file says so or they are given back."""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

_ENDED = 256


@dataclass(frozen=True)
class PendingClaim:
    """A message in a worker's hands: its row, which delivery it is, and until when (in ms)."""

    queue: str
    position: int
    count: int
    until: int


class PendingClaimRegistry:
    """The messages that were received and whose turn is not claimed yet.

    One process holds the file, so nobody else needs to know. When it dies they are there as if
    nobody had taken them (ADR 0039).
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken: dict[str, PendingClaim] = {}
        self._ended: deque[str] = deque(maxlen=_ENDED)

    @contextmanager
    def choosing(self, queue: str) -> Iterator[dict[int, PendingClaim]]:
        """Yield what is taken of a queue, by position; nobody takes or loses one meanwhile."""
        with self._lock:
            yield {each.position: each for each in self._taken.values() if each.queue == queue}

    def take(self, receipt: str, message: PendingClaim) -> None:
        """Put a message into a worker's hands, out of those of an earlier one; while choosing."""
        # A receipt whose time is over is void once the message is taken again.
        for other, held in list(self._taken.items()):
            if held.position == message.position:
                del self._taken[other]
        self._taken[receipt] = message

    def get(self, receipt: str | None) -> PendingClaim | None:
        """Return the message of a receipt; None if the file has the receipt, or nobody."""
        return None if receipt is None else self._taken.get(receipt)

    def drop(self, receipt: str | None) -> None:
        """Forget a receipt once the file says what became of its message."""
        with self._lock:
            self._taken.pop(receipt or "", None)

    def end(self, receipt: str) -> None:
        """Remember that a turn's end removed its message, for the worker that still has it."""
        with self._lock:
            self._taken.pop(receipt, None)
            self._ended.append(receipt)

    def has_ended(self, receipt: str) -> bool:
        """Check whether the message is gone with its turn."""
        with self._lock:
            return receipt in self._ended

    def release(self, queue: str) -> None:
        """Give all messages of a queue back."""
        with self._lock:
            for receipt, held in list(self._taken.items()):
                if held.queue == queue:
                    del self._taken[receipt]
