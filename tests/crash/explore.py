"""`make crash`: every kill, every pair of kills, sleepers, echoes, chance, and the seeded bugs.

The last line sums up. A violation is printed with the name of its run; `--repro NAME` plays that
run again, point by point.
"""

import argparse
import atexit
import gc
import logging
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from tempfile import mkdtemp

from tests.crash.aws_ground import AwsGround
from tests.crash.ground import Ground
from tests.crash.invariants import Totals, totals
from tests.crash.schedules import (
    BY_NAME,
    MODES,
    hunt,
    mutation_named,
    perform,
    seeded,
    some,
    some_pairs,
)
from tests.crash.sqlite_ground import SqliteGround
from tests.crash.world import World


@dataclass(frozen=True)
class Extent:
    """How much is played on a ground: modes by their names in the summary, how many runs of each.

    A number bounds the runs of one scenario; None means all of them.
    """

    modes: dict[str, tuple[str, int | None]]
    schedules: int
    chunk: int


EXTENTS = {
    "sqlite": Extent(
        {
            "pairs": ("pairs", None),
            "zombies": ("sleepers", None),
            "single kills": ("singles", None),
            "echoes": ("echoes", None),
            "outages": ("outages", None),
        },
        schedules=100_000,
        chunk=500,
    ),
    "aws": Extent(
        {
            "single kills": ("kills", None),
            "outages": ("outages", None),
            "echoes": ("echoes", None),
            "stale memories": ("stale", 8),
            "zombies": ("sleepers", 8),
            "pairs": ("pairs", 8),
            "conflicts": ("conflicts", None),
            "lags": ("lags", None),
        },
        schedules=500,
        chunk=25,
    ),
}
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


def settle(ground: str, folder: str) -> None:
    """Open an installation of this process's own, in a folder that somebody else removes."""
    logging.disable(logging.CRITICAL)
    place: Ground = AwsGround() if ground == "aws" else SqliteGround(Path(mkdtemp(dir=folder)))
    _worlds.append(World(place))
    atexit.register(_worlds[-1].close)
    gc.freeze()


@contextmanager
def folder() -> Iterator[str]:
    """A folder for installations, in memory where there is such a place."""
    shared = Path("/dev/shm")  # noqa: S108 - the folder in it is private
    place = shared if os.access(shared, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="opencrab-crash-", dir=place) as made:
        yield made


def share(task: tuple[str, str, int, int]) -> Report:
    """The runs of one mode over one scenario, or of some seeds."""
    label, scenario, first, last = task
    if label == "schedules":
        return judged(label, (f"random:{seed}" for seed in range(first, last)))
    mode, most = EXTENTS[world().ground.name].modes[label]
    if mode == "pairs" and most is not None:
        return judged(label, some_pairs(world(), BY_NAME[scenario], most))
    names = MODES[mode](world(), BY_NAME[scenario])
    return judged(label, names if most is None else some(names, most, scenario))


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


def tasks(extent: Extent, schedules: int, seed: int) -> Iterator[tuple[str, str, int, int]]:
    """Shares of work, large ones first."""
    for label in extent.modes:
        yield from ((label, scenario, 0, 0) for scenario in BY_NAME)
    for first in range(seed, seed + schedules, extent.chunk):
        yield "schedules", "", first, min(first + extent.chunk, seed + schedules)


def explore(ground: str, schedules: int | None, seed: int, jobs: int) -> int:
    """Everything on one ground; answers the exit code."""
    report, done, extent, bugs = Report(), 0, EXTENTS[ground], seeded(ground)
    with (
        folder() as made,
        # A new interpreter: what moto patches and keeps in one must not be in another.
        ProcessPoolExecutor(
            jobs, initializer=settle, initargs=(ground, made), mp_context=get_context("spawn")
        ) as pool,
    ):
        count = extent.schedules if schedules is None else schedules
        todo = list(tasks(extent, count, seed))
        for part in pool.map(share, todo):
            report.add(part)
            done += 1
            if done % 10 == 0:
                print(f"{done}/{len(todo)} shares, {report.runs.total():,} runs", flush=True)
        hunted = dict(pool.map(caught, [mutation.name for mutation in bugs]))
    for name, found in report.violations[:SHOWN]:
        print(f"VIOLATION in {name}: {'; '.join(found[:3])}")
        print(f"  again: python -m tests.crash.explore --ground {ground} --repro {name}")
    for mutation, run in hunted.items():
        print(f"seeded bug {'caught by ' + run if run else 'NOT CAUGHT'}: {mutation}")
    fine = not report.violations and all(hunted.values())
    print(summary(ground, report, hunted, fine=fine), flush=True)
    return 0 if fine else 1


def summary(ground: str, report: Report, hunted: dict[str, str | None], *, fine: bool) -> str:
    """One line for those who read only one."""
    runs, sums = report.runs, report.totals
    counted = Counter(_kind(problem) for _, problems in report.violations for problem in problems)
    labels = ("schedules", *(label for label in EXTENTS[ground].modes))
    weather = f"{sums.conflicts:,} conflicts met, {sums.stale:,} stale reads, "
    return (
        f"crash explorer: {'on AWS: ' if ground == 'aws' else ''}"
        f"{', '.join(f'{runs[label]:,} {label}' for label in labels)}, "
        f"{sum(map(bool, hunted.values()))}/{len(hunted)} seeded bugs caught, "
        f"{counted['answer']} lost answers, "
        f"{counted['effect']} duplicate effects, {counted['once']} repeated once calls, "
        f"{counted['other']} other violations, largest transaction {sums.largest} items, "
        f"{weather if ground == 'aws' else ''}"
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


def repeat(ground: str, name: str, mutation: str | None) -> int:
    """Play one run again and tell it."""
    trace: list[str] = []
    bug = mutation_named(mutation) if mutation else None
    with folder() as made:
        settle(ground, made)
        found = perform(world(), name, bug, trace)
    print("\n".join(trace))
    print("\n".join(f"VIOLATION: {problem}" for problem in found) or "no violation")
    return 1 if found else 0


def main() -> int:
    """Parse the arguments and go."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ground", choices=EXTENTS, help="one home only; both by default")
    parser.add_argument("--schedules", type=int, help="random schedules instead of the usual")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--repro", metavar="NAME")
    parser.add_argument("--mutation", metavar="BUG")
    chosen = parser.parse_args()
    if chosen.repro:
        return repeat(chosen.ground or "sqlite", chosen.repro, chosen.mutation)
    grounds = [chosen.ground] if chosen.ground else list(EXTENTS)
    codes = [explore(one, chosen.schedules, chosen.seed, chosen.jobs) for one in grounds]
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
