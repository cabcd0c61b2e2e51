"""A busy server stays on one core, the most idle one, and only while it is busy."""

import os
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from opencrab.gateways.local.core_affinity import CoreAffinity, LinuxCores

ALL = frozenset({0, 1, 2})


class Machine:
    """Cores whose load a test says, second by second."""

    def __init__(self, allowed: frozenset[int] = ALL) -> None:
        self.may_use = allowed
        self.idle = dict.fromkeys(sorted(ALL), 0.0)
        self.used = 0.0
        self.kept = list[frozenset[int]]()
        self.affinity = CoreAffinity(self)
        self._now = 0.0

    def allowed(self) -> frozenset[int]:
        return self.may_use

    def idle_seconds(self) -> Mapping[int, float]:
        return dict(self.idle)

    def used_seconds(self) -> float:
        return self.used

    def keep_threads_on(self, cores: frozenset[int]) -> None:
        self.kept.append(cores)

    def second(self, share: float, *idle: float) -> int | None:
        """A second in which the server took this share of a core and the cores were so idle."""
        for core, each in enumerate(idle):
            self.idle[core] += each
        self.used += share
        self._now += 1
        self.affinity.look(self._now)
        return self.affinity.core


def test_a_busy_server_is_kept_on_the_most_idle_core_and_let_go_when_it_is_quiet() -> None:
    machine = Machine()
    assert machine.second(0.9, 1, 1, 1) is None
    assert machine.second(0.1, 1, 1, 1) is None
    assert machine.second(0.9, 0.4, 0.9, 0.8) == 1
    assert machine.second(0.9, 0.9, 0.1, 0.9) == 1
    for _ in range(4):
        assert machine.second(0.0, 1, 1, 1) == 1
    assert machine.second(0.0, 1, 1, 1) is None
    assert machine.kept[0] == frozenset({1})
    assert machine.kept[-1] == ALL


def test_it_leaves_a_core_that_another_program_uses_for_one_that_is_better() -> None:
    machine = Machine()
    machine.second(0.9, 1, 1, 1)
    assert machine.second(0.9, 0.1, 0.5, 0.5) == 1
    assert machine.second(0.5, 0.2, 0.0, 0.4) == 1
    assert machine.second(0.5, 0.9, 0.0, 0.2) == 0


def test_threads_that_began_meanwhile_are_kept_too() -> None:
    machine = Machine()
    machine.second(0.9, 1, 1, 1)
    machine.second(0.9, 1, 0.5, 0.5)
    machine.second(0.9, 0.1, 1, 1)
    assert machine.kept == [frozenset({0})] * 2


def test_nothing_is_done_on_one_core_or_more_than_once_a_second() -> None:
    machine = Machine(frozenset({1}))
    for _ in range(3):
        assert machine.second(1, 0, 0, 0) is None
    assert machine.kept == []
    machine = Machine()
    machine.second(0.9, 1, 1, 1)
    machine.second(0.9, 1, 1, 1)
    machine.affinity.look(2.5)
    assert len(machine.kept) == 1


def test_a_machine_that_does_not_tell_its_cores_is_left_alone(tmp_path: Path) -> None:
    cores = LinuxCores(tmp_path)
    assert cores.allowed() == frozenset()
    assert cores.idle_seconds() == {}
    (tmp_path / "stat").write_text("cpu  1 2 3 4 5\ncpu0 1 2 3 400 100 6\ncpu1 1 2\nintr 1\n")
    assert cores.idle_seconds() == {}
    (tmp_path / "stat").write_text("cpu  1 2 3 4 5\ncpu0 1 2 3 400 100 6\nintr 1\n")
    assert cores.idle_seconds() == {0: 500 / os.sysconf("SC_CLK_TCK")}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps threads on cores")
def test_all_threads_are_kept_on_a_core_and_let_go() -> None:
    cores = LinuxCores()
    allowed, done = cores.allowed(), threading.Event()
    threads = [threading.Thread(target=done.wait, name=name) for name in ("worker", "feed")]
    for each in threads:
        each.start()
    try:
        one = frozenset({min(allowed)})
        cores.keep_threads_on(one)
        found = [frozenset(os.sched_getaffinity(each.native_id or 0)) for each in threads]
        assert found == [one, one]
        assert frozenset(os.sched_getaffinity(0)) == one
    finally:
        cores.keep_threads_on(allowed)
        done.set()
        for each in threads:
            each.join()
    assert frozenset(os.sched_getaffinity(0)) == allowed
    assert cores.used_seconds() > 0
