"""Isolation: many together, one alone, and nobody waits for ever."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial

from opencrab.gateways.local.isolation import Isolation
from tests.contract.example import turn
from tests.contract.waiting import eventually

PATIENCE = 60.0
SUSPECT, CLEARED = turn(crashes=1), turn()


class Crowd:
    """Workers in threads, each in or before its block until it is told to go on."""

    def __init__(self) -> None:
        self.isolation = Isolation()
        self.inside: list[str] = []
        self._gone: dict[str, threading.Event] = {}
        self._steps: dict[str, threading.Event] = {}
        self._changed = threading.Condition()
        self._threads: list[threading.Thread] = []

    def begins(self, name: str, *, alone: bool = False) -> None:
        self._gone[name], self._steps[name] = threading.Event(), threading.Event()
        thread = threading.Thread(target=partial(self._work, name, alone=alone), daemon=True)
        self._threads.append(thread)
        thread.start()

    def steps(self, name: str) -> None:
        """It has finished a step, with a result."""
        self._steps[name].set()

    def ends(self, name: str) -> None:
        self._gone[name].set()
        self._steps[name].set()

    def are_inside(self, *names: str) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: sorted(self.inside) == sorted(names), PATIENCE)

    def wants(self, count: int) -> None:
        """Wait until so many stand before the door."""
        isolation = self.isolation
        eventually(lambda: isolation._waiting + isolation._wanted, count)

    def joined(self) -> None:
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()

    def _work(self, name: str, *, alone: bool) -> None:
        with self.isolation.alone() if alone else self.isolation.together():
            self._note(name)
            self._steps[name].wait(PATIENCE)
            if not self._gone[name].is_set():
                self._note(name, came=False)
                self.isolation.between_steps(CLEARED)
                self._note(name)
                self._gone[name].wait(PATIENCE)
            self._note(name, came=False)

    def _note(self, name: str, *, came: bool = True) -> None:
        with self._changed:
            self.inside.append(name) if came else self.inside.remove(name)
            self._changed.notify_all()


@contextmanager
def crowd(*leave: str) -> Iterator[Crowd]:
    made = Crowd()
    yield made
    for name in leave:
        made.ends(name)
    made.joined()


def test_workers_run_together() -> None:
    with crowd("a", "b", "c") as workers:
        for name in "abc":
            workers.begins(name)
        assert workers.are_inside("a", "b", "c")


def test_a_suspect_waits_for_the_steps_that_run_and_then_runs_alone() -> None:
    with crowd("s", "a", "b") as workers:
        workers.begins("a")
        assert workers.are_inside("a")
        workers.begins("s", alone=True)
        workers.wants(1)
        workers.begins("b")
        workers.wants(2)
        assert workers.are_inside("a")
        workers.steps("a")
        assert workers.are_inside("s")
        workers.wants(2)


def test_a_suspect_that_has_a_result_has_company_again() -> None:
    with crowd("s", "a") as workers:
        workers.begins("s", alone=True)
        assert workers.are_inside("s")
        workers.begins("a")
        workers.wants(1)
        assert workers.are_inside("s")
        workers.steps("s")
        assert workers.are_inside("s", "a")


def test_between_two_suspects_everybody_who_waited_has_a_turn() -> None:
    with crowd("s", "t", "a", "b") as workers:
        workers.begins("s", alone=True)
        assert workers.are_inside("s")
        workers.begins("t", alone=True)
        workers.begins("a")
        workers.begins("b")
        workers.wants(3)
        workers.ends("s")
        assert workers.are_inside("a", "b")
        workers.wants(1)
        workers.ends("a")
        workers.ends("b")
        assert workers.are_inside("t")


def test_a_suspect_without_a_result_stays_alone_between_its_steps() -> None:
    isolation, came = Isolation(), threading.Event()

    def joins() -> None:
        with isolation.together():
            came.set()

    other = threading.Thread(target=joins, daemon=True)
    with isolation.alone():
        other.start()
        eventually(lambda: isolation._waiting, 1)
        isolation.between_steps(SUSPECT)
        assert not came.is_set()
    other.join(PATIENCE)
    assert came.is_set()


def test_whoever_breaks_lets_the_others_in() -> None:
    isolation = Isolation()
    for block in (isolation.alone, isolation.together, isolation.alone):
        with suppress(RuntimeError), block():
            raise RuntimeError
    assert isolation._may_be_alone()
