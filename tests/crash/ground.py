"""What an installation stands on: the stores of one home, wiped between runs and read at rest."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.agents.agent import Profile
from opencrab.ports.home import Home
from tests.crash.scheduling import Scheduler
from tests.crash.watching import Watch
from tests.crash.weather import Weather

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


class Hands:
    """A clock whose hands go back to the start of each run."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin again, with the same times and ids as before."""
        self._clock = FakeClock(START)
        self.advance, self.now = self._clock.advance, self._clock.now
        self.new_id, self.secret = self._clock.new_id, self._clock.secret
        self.monotonic_ms = self._clock.monotonic_ms


Arguments = dict[str, Any]
Answer = dict[str, Any]
Calls = Callable[[str, Arguments], Answer]
"""Calls of one service of AWS: operation and arguments in, answer out."""


class Bug(Protocol):
    """What of a seeded bug lies below the ports."""

    def calls(self, service: str, right: Calls, state: Any) -> Calls:
        """The calls as a wrong adapter makes them."""

    def journal(self) -> type[Any] | None:
        """A wrong journal to take the right one's place."""


class NoBug:
    """`Bug` for what is right."""

    def calls(self, service: str, right: Calls, state: Any) -> Calls:
        """Nothing is wrong with them."""
        return right

    def journal(self) -> type[Any] | None:
        """The right one."""
        return None


class Stage(Protocol):
    """The run that a ground takes part in."""

    scheduler: Scheduler
    watch: Watch
    weather: Weather

    @property
    def bug(self) -> Bug:
        """The seeded bug of this run; most runs have one that does nothing."""


@dataclass(frozen=True)
class Awaited:
    """What may happen next, in milliseconds since 1970.

    `visible` are the moments at which messages can be received; `lapses` those from which the
    sweep may find something, with the name of its list.
    """

    visible: tuple[int, ...]
    lapses: tuple[tuple[str, int], ...]


class Ground(Protocol):
    """One home on stores of its own, for many runs one after another."""

    name: str
    rewrites: bool
    """Whether writing what a file holds already makes a new version of it."""
    clock: Hands
    home: Home
    """Nothing stands between it and the stores but what the ground itself puts there."""

    def enter(self, stage: Stage) -> None:
        """Take part in the runs of a stage from now on."""

    def wipe(self, seen: Watch, profiles: Iterable[Profile]) -> None:
        """Forget the last run, of which so much was seen; the next one has these agents."""

    def gated(self, home: Home) -> Home:
        """The home with an I/O point before and after everything that outlives a process."""

    def items(self) -> Iterator[tuple[str, str, str]]:
        """All that is stored: partition, place in it, and the body as JSON."""

    def queued(self) -> dict[str, int]:
        """How many messages each queue has."""

    def awaited(self) -> Awaited:
        """What may happen next."""

    def has_work(self, queue: str) -> bool:
        """Whether a worker would receive a message of this queue now."""

    def file(self, agent_id: str, path: str) -> bytes | None:
        """What a file holds now."""

    def close(self) -> None:
        """Give up the stores."""
