"""Isolation: turns that run at once in one process, and one at a time that runs alone."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from opencrab.domain.turn.turn import Turn


class Isolation:
    """A lock that lets workers run together, or one of them alone.

    A turn that may have killed the process runs alone until it has a result, so that another crash
    can only be its own. A worker that wants to run alone goes before those that begin a step;
    between two such workers every waiting one has a step.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._together = 0
        self._alone = False
        self._wanted = 0
        self._waiting = 0
        self._owed = 0
        self._mine = threading.local()

    @contextmanager
    def together(self) -> Iterator[None]:
        """Run this worker beside others within the block."""
        self._join()
        try:
            yield
        finally:
            self._leave()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Run this worker alone within the block, until `between_steps` sees a result."""
        with self._changed:
            self._wanted += 1
            try:
                self._changed.wait_for(self._may_be_alone)
            finally:
                self._wanted -= 1
            self._alone = True
            self._mine.alone = True
        try:
            yield
        finally:
            self._leave()

    def between_steps(self, turn: Turn) -> None:
        """Let waiting workers run after a step: end running alone, or give way to one that must."""
        if self._is_alone:
            if not turn.is_suspect:
                self._end_alone(stays=True)
        elif self._wanted:
            self._leave()
            self._join()

    @property
    def _is_alone(self) -> bool:
        return getattr(self._mine, "alone", False)

    def _may_be_alone(self) -> bool:
        return not self._together and not self._alone and not self._owed

    def _join(self) -> None:
        with self._changed:
            self._waiting += 1
            # Whoever wants to be alone goes first, except that those who waited through the last
            # one are owed a step each: many suspects in a row must not stop everybody else (ADR
            # 0028).
            self._changed.wait_for(lambda: not self._alone and (self._owed or not self._wanted))
            self._waiting -= 1
            self._owed = max(self._owed - 1, 0)
            self._together += 1
            self._changed.notify_all()

    def _leave(self) -> None:
        if self._is_alone:
            self._end_alone(stays=False)
            return
        with self._changed:
            self._together -= 1
            self._changed.notify_all()

    def _end_alone(self, *, stays: bool) -> None:
        with self._changed:
            self._alone = self._mine.alone = False
            self._together += stays
            self._owed = self._waiting
            self._changed.notify_all()
