"""`make crash`: every kill, every pair of kills, sleepers, echoes, chance, and the seeded bugs.

The last line sums up. A violation is printed with the name of its run; `--repro NAME` plays that
run again, point by point.
"""

import argparse
import gc
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.crash.invariants import Totals, totals
from tests.crash.mutations import MUTATIONS
from tests.crash.schedules import (
    BY_NAME,
    echoes,
    hunt,
    mutation_named,
    outages,
    pairs,
    perform,
    singles,
    sleepers,
)
from tests.crash.world import World

MODES = {
    "single kills": singles,
    "pairs": pairs,
    "zombies": sleepers,
    "echoes": echoes,
    "outages": outages,
}
CHUNK = 500
SHOWN = 20


@dataclass
class Report:
    """What a share of the runs came to."""

    runs: Counter[str] = field(default_factory=Counter)
    totals: Totals = field(default_factory=Totals)
    violations: list[tuple[str, list[str]]] = field(default_factory=list)

    def add(self, other: "Report") -> None:
        """Take another share into account."""
        self.runs.update(other.runs)
        self.totals.add(other.totals)
        self.violations.extend(other.violations)


_worlds: list[World] = []


def world() -> World:
    """This process's installation."""
    return _worlds[0]


def settle(folder: str) -> None:
    """Open an installation of this process's own, in a folder that somebody else removes."""
    _worlds.append(World(Path(tempfile.mkdtemp(dir=folder))))
    gc.freeze()


@contextmanager
def ground() -> Iterator[str]:
    """A folder for installations, in memory where there is such a place."""
    shared = Path("/dev/shm")  # noqa: S108 - the folder in it is private
    place = shared if os.access(shared, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="opencrab-crash-", dir=place) as folder:
        yield folder


def share(task: tuple[str, str, int, int]) -> Report:
    """The runs of one mode over one scenario, or of some seeds."""
    mode, scenario, first, last = task
    if mode == "schedules":
        return judged(mode, (f"random:{seed}" for seed in range(first, last)))
    return judged(mode, MODES[mode](world(), BY_NAME[scenario]))


def judged(mode: str, names: Iterable[str]) -> Report:
    """Play these runs."""
    report = Report()
    for name in names:
        found = perform(world(), name)
        report.runs[mode] += 1
        report.totals.add(totals(world()))
        if found:
            report.violations.append((name, found))
    return report


def caught(mutation: str) -> tuple[str, str | None]:
    """A seeded bug, and the run that catches it."""
    return mutation, hunt(world(), mutation_named(mutation))


def tasks(schedules: int, seed: int) -> Iterator[tuple[str, str, int, int]]:
    """Shares of work, large ones first."""
    for mode in ("pairs", "zombies", "single kills", "echoes", "outages"):
        yield from ((mode, scenario, 0, 0) for scenario in BY_NAME)
    for first in range(seed, seed + schedules, CHUNK):
        yield "schedules", "", first, min(first + CHUNK, seed + schedules)


def explore(schedules: int, seed: int, jobs: int) -> int:
    """Everything; answers the exit code."""
    report, done = Report(), 0
    with (
        ground() as folder,
        ProcessPoolExecutor(jobs, initializer=settle, initargs=(folder,)) as pool,
    ):
        todo = list(tasks(schedules, seed))
        for part in pool.map(share, todo):
            report.add(part)
            done += 1
            if done % 10 == 0:
                print(f"{done}/{len(todo)} shares, {report.runs.total():,} runs", flush=True)
        hunted = dict(pool.map(caught, [mutation.name for mutation in MUTATIONS]))
    for name, found in report.violations[:SHOWN]:
        print(f"VIOLATION in {name}: {'; '.join(found[:3])}")
        print(f"  again: python -m tests.crash.explore --repro {name}")
    for mutation, run in hunted.items():
        print(f"seeded bug {'caught by ' + run if run else 'NOT CAUGHT'}: {mutation}")
    fine = not report.violations and all(hunted.values())
    print(summary(report, sum(map(bool, hunted.values())), fine=fine))
    return 0 if fine else 1


def summary(report: Report, found: int, *, fine: bool) -> str:
    """One line for those who read only one."""
    runs, sums = report.runs, report.totals
    counted = Counter(_kind(problem) for _, problems in report.violations for problem in problems)
    return (
        f"crash explorer: {runs['schedules']:,} schedules, {runs['single kills']:,} single kills, "
        f"{runs['pairs']:,} pairs, {runs['zombies']:,} zombies, {runs['echoes']:,} echoes, "
        f"{runs['outages']:,} outages, "
        f"{found}/{len(MUTATIONS)} seeded bugs caught, {counted['answer']} lost answers, "
        f"{counted['effect']} duplicate effects, {counted['once']} repeated once calls, "
        f"{counted['other']} other violations, largest transaction {sums.largest} items, "
        f"extra model calls {sums.lost_calls:,} <= kills {sums.kills:,} "
        f"+ zombies {sums.sleeps:,} + outages {sums.outages:,}, "
        f"billed {sums.billed:,} <= spent {sums.spent:,} micro-dollars, "
        f"at most {sums.share:.0%} of a limit: {'OK' if fine else 'FAILED'}"
    )


def _kind(problem: str) -> str:
    signs = {
        "once": ("the bell rang",),
        "answer": ("is lost", "no rest", " turns", "is still"),
        "effect": ("it says", "shows", "was written", "outbox has", "results"),
    }
    return next(
        (kind for kind, words in signs.items() if any(w in problem for w in words)), "other"
    )


def repeat(name: str, mutation: str | None) -> int:
    """Play one run again and tell it."""
    trace: list[str] = []
    bug = mutation_named(mutation) if mutation else None
    with ground() as folder:
        settle(folder)
        found = perform(world(), name, bug, trace)
    print("\n".join(trace))
    print("\n".join(f"VIOLATION: {problem}" for problem in found) or "no violation")
    return 1 if found else 0


def main() -> int:
    """Parse the arguments and go."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schedules", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--repro", metavar="NAME")
    parser.add_argument("--mutation", metavar="BUG")
    chosen = parser.parse_args()
    if chosen.repro:
        return repeat(chosen.repro, chosen.mutation)
    return explore(chosen.schedules, chosen.seed, chosen.jobs)


if __name__ == "__main__":
    sys.exit(main())
