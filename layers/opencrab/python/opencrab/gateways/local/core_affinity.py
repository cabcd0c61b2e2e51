"""Keeps a busy server's threads on one core: threads of Python run one at a time anyway.

When they run on several cores, each of their many short waits hands the interpreter from core to
core, which costs a turn a third more CPU. Other programs are free to use the other cores.
"""

import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Protocol

BUSY, QUIET = 0.4, 0.15
"""The share of a core from which a server counts as busy, and below which it does not."""

_LOOK_SECONDS = 1.0
_QUIET_LOOKS = 5
_CROWDED = 0.3
_BETTER = 0.2


class Cores(Protocol):
    """The cores of a machine, as far as this process may use them."""

    def allowed(self) -> frozenset[int]:
        """Return the cores that this process was started with."""

    def idle_seconds(self) -> Mapping[int, float]:
        """Return how long each core was idle since the machine was started."""

    def used_seconds(self) -> float:
        """Return the CPU time of this process."""

    def keep_threads_on(self, cores: frozenset[int]) -> None:
        """Let the threads of this process run on these cores only, also those begun meanwhile."""


class CoreAffinity:
    """Chooses the core of a busy server, anew each second if `look` is called often enough."""

    def __init__(self, cores: Cores) -> None:
        self._cores = cores
        self._allowed = cores.allowed()
        self._at: float | None = None
        self._idle: Mapping[int, float] = {}
        self._used = 0.0
        self._quiet = 0
        self.core: int | None = None
        """The core that the threads are kept on; None for all."""

    def look(self, now: float) -> None:
        """Keep the threads on one core, move them, or let them go; `now` are seconds."""
        before = self._at
        has_choice = len(self._allowed) > 1
        if not has_choice or (before is not None and now < before + _LOOK_SECONDS):
            return
        idle, used = self._cores.idle_seconds(), self._cores.used_seconds()
        self._at = now
        passed = 0.0 if before is None else now - before
        free = {
            core: min(max((idle[core] - self._idle.get(core, 0.0)) / passed, 0.0), 1.0)
            for core in self._allowed & idle.keys()
            if passed > 0
        }
        share = (used - self._used) / passed if passed > 0 else 0.0
        self._idle, self._used = idle, used
        if free:
            self._decide(share, free)

    def _decide(self, share: float, free: Mapping[int, float]) -> None:
        best = max(sorted(free), key=lambda core: free[core])
        self._quiet = self._quiet + 1 if share < QUIET else 0
        if self.core is None:
            if share >= BUSY:
                self._keep_on(best)
        elif self._quiet >= _QUIET_LOOKS:
            self.core = None
            self._cores.keep_threads_on(self._allowed)
        else:
            own = free.get(self.core, 0.0)
            others = 1.0 - own - share
            is_better = free[best] > own + max(share, _BETTER)
            self._keep_on(best if others > _CROWDED and is_better else self.core)

    def _keep_on(self, core: int) -> None:
        self.core = core
        self._cores.keep_threads_on(frozenset({core}))


class LinuxCores:
    """`Cores` of Linux; on other systems there is nothing to choose."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._proc = proc
        self._tick = os.sysconf("SC_CLK_TCK")

    def allowed(self) -> frozenset[int]:
        if not hasattr(os, "sched_getaffinity") or not (self._proc / "stat").exists():
            return frozenset()
        return frozenset(os.sched_getaffinity(0))

    def idle_seconds(self) -> Mapping[int, float]:
        with suppress(OSError, ValueError, IndexError):
            rows = (self._proc / "stat").read_text().splitlines()
            return dict(self._idle_of(rows))
        return {}

    def used_seconds(self) -> float:
        return time.process_time()

    def keep_threads_on(self, cores: frozenset[int]) -> None:
        for thread in threading.enumerate():
            if thread.native_id is not None:
                # It may have ended, and a container may forbid it.
                with suppress(OSError):
                    os.sched_setaffinity(thread.native_id, cores)

    def _idle_of(self, rows: list[str]) -> Iterator[tuple[int, float]]:
        for name, *ticks in (row.split() for row in rows if row.startswith("cpu")):
            if name[3:].isdigit():
                # Idle, and waiting for the disk.
                yield int(name[3:]), (int(ticks[3]) + int(ticks[4])) / self._tick
