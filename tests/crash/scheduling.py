"""Many workers in one thread: a plan decides at every I/O point who goes on, who dies, who sleeps.

A worker is a greenlet that gives way before and after each call of a port. The same plan gives
the same run, whatever the machine does.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from greenlet import GreenletExit, getcurrent, greenlet

from opencrab.domain.errors import OpenCrabError, Unavailable


class Killed(BaseException):
    """The process of a worker ends here; nothing that it knew survives."""


class Fault(StrEnum):
    """What may happen to a worker at an I/O point."""

    KILL = "kill"
    SLEEP = "sleep"
    ECHO = "echo"
    OUTAGE = "outage"


@dataclass(frozen=True)
class Place:
    """One I/O point: who is about to do, or has just done, what."""

    number: int
    worker: str
    port: str
    method: str
    phase: str
    within: str = ""
    """The port's call that this one is part of, where a store's own calls are the I/O points."""

    def __str__(self) -> str:
        within = f" in {self.within}" if self.within else ""
        return f"{self.number:4d} {self.worker:10} {self.phase:6} {self.port}.{self.method}{within}"


@dataclass(frozen=True)
class Ported:
    """A call of a port that is on its way."""

    port: str
    method: str
    arguments: tuple[Any, ...]
    named: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.port}.{self.method}"


class Task:
    """One life of one worker; `process` is whatever a store keeps in its memory."""

    def __init__(self, name: str, run: Callable[[], None], hub: greenlet) -> None:
        self.name = name
        self.dead = False
        self.failure: BaseException | None = None
        self.works = False
        self.slept = False
        self.call: Ported | None = None
        self.process: Any = None
        self._run = run
        self.greenlet = greenlet(self._live, parent=hub)

    @property
    def finished(self) -> bool:
        """Whether its life is over, one way or another."""
        return bool(self.greenlet.dead)

    def _live(self, *_nothing: object) -> None:
        try:
            self._run()
        except Killed:
            self.dead = True
        except GreenletExit:
            pass
        except Exception as error:  # noqa: BLE001 - whatever it is, the explorer reports it
            self.failure = error


class Plan(Protocol):
    """Who goes next, and what goes wrong."""

    @property
    def straight(self) -> bool:
        """Whether whoever is on the way goes on before anybody else begins."""

    def fault(self, place: Place) -> Fault | None:
        """What happens at this point."""

    def gives_way(self) -> bool:
        """Whether the worker at a point lets others go first."""

    def pick(self, ready: int) -> int:
        """Who goes next, of so many who could."""

    def wakes(self) -> bool:
        """Whether a sleeping worker goes on now, although others still can."""

    def patience(self) -> int:
        """After how many model calls a worker's time is up; a large number means never."""

    def disturbance(self) -> str | None:
        """What else happens now: `jump` (of the clock), `copy` (of a message), `sweep`."""


class Straight:
    """The first who can go on goes on; faults happen at given points only.

    `wake_after` lets a sleeper go on once others have passed so many points since it fell asleep,
    or, being 0, as soon as another worker has claimed a turn; without it, it sleeps until
    everybody else has nothing left to do.
    """

    straight = True

    def __init__(
        self, faults: Mapping[int, Fault] | None = None, *, wake_after: int | None = None
    ) -> None:
        self._faults = faults or {}
        self._wake_after = wake_after
        self._asleep_at = 0
        self._number = 0
        self._claimed = False
        self.seen: list[Place] = []

    def fault(self, place: Place) -> Fault | None:
        self._number = place.number
        self.seen.append(place)
        fault = self._faults.get(place.number)
        self._claimed = place.phase == "after" and _claims(place)
        if fault is Fault.SLEEP:
            self._asleep_at = place.number
            self._claimed = False
        return fault

    def gives_way(self) -> bool:
        return True

    def pick(self, ready: int) -> int:
        return 0

    def wakes(self) -> bool:
        if not self._wake_after:
            return self._wake_after == 0 and self._claimed
        return self._number - self._asleep_at >= self._wake_after

    def patience(self) -> int:
        return 1_000

    def disturbance(self) -> str | None:
        return None


def _claims(place: Place) -> bool:
    return place.method == "claim" or (place.within, place.method) == (
        "journal.claim",
        "UpdateItem",
    )


class Chance:
    """Everything by chance, from one seed."""

    straight = False

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        draw = self._random.random
        self._draw = draw
        self._kill = 0.0 if draw() < 0.1 else draw() * 0.05
        self._sleep = 0.0 if draw() < 0.4 else draw() * 0.02
        self._echo = 0.0 if draw() < 0.5 else draw() * 0.03
        self._outage = 0.0 if draw() < 0.7 else draw() * 0.03
        self._turmoil = 0.0 if draw() < 0.5 else draw() * 0.03
        self._restless = draw() * 0.6
        self._hurried = draw() < 0.3
        self._faults_left = self._random.choice((1, 2, 3, 5, 8))

    def fault(self, place: Place) -> Fault | None:
        chance = self._draw()
        if chance >= self._kill + self._sleep + self._echo + self._outage or not self._faults_left:
            return None
        self._faults_left -= 1
        if chance < self._kill:
            return Fault.KILL
        if chance < self._kill + self._sleep:
            return Fault.SLEEP
        return Fault.ECHO if chance < self._kill + self._sleep + self._echo else Fault.OUTAGE

    def gives_way(self) -> bool:
        return self._draw() < self._restless

    def pick(self, ready: int) -> int:
        return int(self._draw() * ready)

    def wakes(self) -> bool:
        return self._draw() < 0.02

    def patience(self) -> int:
        return int(self._draw() * 4) if self._hurried and self._draw() < 0.5 else 1_000

    def disturbance(self) -> str | None:
        if not self._turmoil or self._draw() >= self._turmoil:
            return None
        return self._random.choice(("jump", "copy", "sweep", "sweep"))


class Scheduler:
    """Runs tasks one at a time and counts what befell them."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.hub = getcurrent()
        self.current: Task | None = None
        self.sleeping: list[Task] = []
        self.points = 0
        self.kills = 0
        self.sleeps = 0
        self.hand_backs = 0
        self.outages = 0
        self.trace: list[str] | None = None
        self.afterlife: list[str] = []

    @property
    def faults(self) -> int:
        """How often a worker lost what it knew, or what it had."""
        return self.kills + self.sleeps + self.outages

    def resume(self, task: Task) -> None:
        """Let a task run until it gives way, sleeps, dies or ends."""
        self.current = task
        try:
            task.greenlet.switch()
        finally:
            self.current = None

    def overtaken(self, tasks: list[Task]) -> None:
        """Time passed while these were on their way, as if they had slept."""
        for task in tasks:
            self.sleeps += task.works
            task.slept = True

    def point(
        self, port: str, method: str, phase: str, outage: Callable[[], Exception] | None = None
    ) -> Fault | None:
        """Called by every proxy before and after its call; answers ECHO for it to carry out.

        `outage` makes the error of a store that does not answer, as its own client raises it.
        """
        task = self.current
        if task is None:
            return None
        if task.dead:
            self.afterlife.append(f"{task.name} did {port}.{method} after its death")
            return None
        self.points += 1
        within = "" if task.call is None else str(task.call)
        place = Place(self.points, task.name, port, method, phase, within)
        fault = self.plan.fault(place)
        if self.trace is not None:
            self.trace.append(f"{place}{f'   << {fault}' if fault else ''}")
        if fault is Fault.KILL:
            self.kills += 1
            task.dead = True
            raise Killed
        if fault is Fault.SLEEP:
            self.sleeps += 1
            task.slept = True
            self.sleeping.append(task)
            self.hub.switch()
        elif self.plan.gives_way():
            self.hub.switch()
        if fault is Fault.OUTAGE and port not in _OUTSIDE:
            self.outages += 1
            raise Unavailable("the store does not answer") if outage is None else outage()
        return fault


_OUTSIDE = frozenset({"model", "channel", "bell", "files"})
"""What fails in ways of its own, which scenarios play."""

_NO_IO = frozenset({"encode"})
"""Methods of ports that stay in the process."""


class Gate:
    """A port, with an I/O point before and after every call of it.

    `watch` sees each call that came back, between its effect and the point after it.
    """

    def __init__(
        self,
        target: Any,
        port: str,
        scheduler: Callable[[], Scheduler],
        watch: Callable[[str, tuple[Any, ...], dict[str, Any], Any], None] | None = None,
    ) -> None:
        self._target = target
        self._port = port
        self._scheduler = scheduler
        self._watch = watch

    def __getattr__(self, method: str) -> Any:
        inner = getattr(self._target, method)
        if not callable(inner) or method in _NO_IO:
            return inner
        self.__dict__[method] = gated = self._gated(method, inner)
        return gated

    def _gated(self, method: str, inner: Callable[..., Any]) -> Callable[..., Any]:
        port, watch, scheduler = self._port, self._watch, self._scheduler

        def call(*arguments: Any, **named: Any) -> Any:
            at = scheduler()
            echo = at.point(port, method, "before") is Fault.ECHO
            try:
                answer = inner(*arguments, **named)
            except OpenCrabError:
                at.point(port, method, "after")
                raise
            if watch is not None:
                watch(method, arguments, named, answer)
            if echo and f"{port}.{method}" in REPEATABLE:
                _repeat(inner, arguments, named)
            at.point(port, method, "after")
            return answer

        return call


REPEATABLE = frozenset(
    {
        "journal.admit",
        "journal.commit",
        "journal.stop",
        "journal.resume",
        "journal.decide",
        "journal.instruct",
        "turns.send",
        "turns.acknowledge",
        "deliveries.send",
        "deliveries.acknowledge",
        "outbox.mark",
        "due.put",
        "due.remove",
        "facts.commit",
        "files.write",
        "blobs.put",
    }
)
"""Calls that a network may carry twice; their contracts say that the second changes nothing."""


def _repeat(inner: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
    try:
        inner(*arguments, **named)
    except OpenCrabError:
        return
