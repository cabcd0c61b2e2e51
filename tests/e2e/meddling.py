"""Meddling: what happens, or ends everything, right after one of the writes of a process."""

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

from opencrab.ports.home import Home
from tests.e2e.house import House

WRITES = {
    "commit",
    "remove",
    "apply_erasures",
    "redact",
    "strip_session",
    "erase_turn",
    "scrub_storage",
}


class Killed(BaseException):
    """The process died."""


class Deadly:
    """A port that lets the process die right after one of the calls that change something."""

    def __init__(self, target: Any, count: Callable[[], None]) -> None:
        self._target, self._count = target, count

    def __getattr__(self, method: str) -> Any:
        inner = getattr(self._target, method)

        def call(*arguments: Any, **named: Any) -> Any:
            answer = inner(*arguments, **named)
            if method in WRITES:
                self._count()
            return answer

        return call if callable(inner) else inner


def watched(house: House, wrote: Callable[[], None]) -> Any:
    """A runtime that tells of each of its writes."""
    names = ("facts", "eraser", "blobs")
    home: Home = replace(
        house.runtime.home, **{n: Deadly(getattr(house.home, n), wrote) for n in names}
    )
    deadly: Any = Deadly(house.runtime.search, wrote)
    return replace(house.runtime, home=home, search=deadly)


def meddled(house: House, write: int, happens: Callable[[], object]) -> Any:
    """A runtime in which something happens right after one of its writes."""
    written = count(1)

    def wrote() -> None:
        if next(written) == write:
            happens()

    return watched(house, wrote)


def die() -> None:
    """The process ends here."""
    raise Killed
