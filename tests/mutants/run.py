"""`make mutants`: seed one fault after another and see whether a test notices.

Each mutant meets every test file that executes its lines, in copies of the checkout, until one
fails. A failure counts only if the same test passes without the mutant. `--map` finds anew which
files reach which mutant, in one run of the whole suite; `--record` remembers who caught what.
`--draw N --seed S` judges drawn mutants, which need a map of their own (`--reach FILE`).
"""

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from tests.mutants.mutant import Mutant
from tests.mutants.mutants import MUTANTS
from tests.mutants.reach import STORED, Reach, mapped
from tests.mutants.sampling import draw_mutants
from tests.mutants.tree import Testing, Tree

_PATIENCE = 10
"""So many times what tests take usually they may take here, and two minutes more."""

_START_SECONDS = 120.0
_CAUGHT, _TIMEOUT, _SURVIVED = "caught", "timeout", "SURVIVED"


@dataclass(frozen=True)
class Found:
    """What became of a mutant: `killer` is the test that noticed it, "" when none did."""

    mutant: Mutant
    state: str
    seconds: float
    killer: str = ""

    def __str__(self) -> str:
        return f"{self.mutant.id:<32} {self.state:<9} {self.seconds:7.1f} s  {self.killer}"


def main() -> int:
    """Judge the mutants; 1 when one has survived."""
    # Started in the background we would ignore Ctrl-C, and so would tests that press it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    wanted = _wanted()
    mutants: Sequence[Mutant] = MUTANTS
    if wanted.draw:
        mutants = draw_mutants(wanted.draw, wanted.seed)
    chosen = [each for each in mutants if not wanted.only or each.id in wanted.only]
    if not chosen:
        print("no mutant has that id", file=sys.stderr)
        return 2
    reach = Reach.read(Path(wanted.reach))
    with tempfile.TemporaryDirectory(prefix="opencrab-mutants-") as folder:
        if wanted.map:
            mapped(Path(folder), mutants, wanted.jobs, reach.killers).write(Path(wanted.reach))
            return 0
        found = _judged(chosen, reach, Path(folder), min(wanted.jobs, len(chosen)))
    survived = [each for each in found if each.state == _SURVIVED]
    if wanted.record:
        caught = (each for each in found if each.state == _CAUGHT)
        reach.killers |= {each.mutant.id: each.killer.partition("::")[0] for each in caught}
        reach.write(Path(wanted.reach))
    for each in survived:
        print(f"{each.mutant.id}: {each.mutant.fault}")
    print(f"{len(found) - len(survived)} of {len(found)} mutants caught, {len(survived)} survived")
    return 1 if survived else 0


def _judged(mutants: Sequence[Mutant], reach: Reach, folder: Path, jobs: int) -> list[Found]:
    """What becomes of the mutants, judged again where the test that failed does so without them."""
    files = sorted({file for mutant in mutants for file in reach.files_for(mutant)})
    found: dict[str, Found] = {}
    unsound: set[str] = set()
    with ExitStack() as opened:
        trees = [Tree(folder, str(n)) for n in range(jobs)]
        testing = [opened.enter_context(Testing(tree, files)) for tree in trees]
        while pending := [each for each in mutants if each.id not in found]:
            new = _all(pending, reach, testing, unsound)
            killers = sorted({each.killer for each in new if each.state == _CAUGHT})
            seconds = _START_SECONDS + _PATIENCE * len(killers)
            failing = {*testing[0].failures(killers, seconds=seconds).failed} - unsound
            for test in sorted(failing):
                print(f"fails without a mutant, and is left out: {test}", flush=True)
            unsound |= failing
            found |= {each.mutant.id: each for each in new if each.killer not in failing}
    return [found[each.id] for each in mutants]


def _all(
    mutants: Sequence[Mutant], reach: Reach, testing: Sequence[Testing], but: Collection[str]
) -> list[Found]:
    """What becomes of each mutant, several at once, told as it is known."""
    free = SimpleQueue[Testing]()
    for each in testing:
        free.put(each)

    def one(mutant: Mutant) -> Found:
        there = free.get()
        try:
            found = _met(mutant, reach, there, but)
        finally:
            free.put(there)
        print(found, flush=True)
        return found

    with ThreadPoolExecutor(len(testing)) as pool:
        return list(pool.map(one, mutants))


def _met(mutant: Mutant, reach: Reach, testing: Testing, but: Collection[str]) -> Found:
    """Whether any test notices a mutant; one that ends its process has noticed it, too."""
    files = reach.files_for(mutant)
    usual = sum(reach.seconds.get(file, 1.0) for file in files)
    began = time.monotonic()
    seconds = _START_SECONDS + _PATIENCE * usual
    verdict = testing.first_failure(mutant, files, but=but, seconds=seconds)
    took = time.monotonic() - began
    if verdict.failed:
        return Found(mutant, _CAUGHT, took, verdict.failed[0])
    if verdict.late:
        return Found(mutant, _TIMEOUT, took)
    return Found(mutant, "died" if verdict.died else _SURVIVED, took)


def _wanted() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants.run", description=__doc__)
    parser.add_argument("--only", action="append", metavar="ID", help="this mutant alone")
    parser.add_argument("--jobs", type=int, default=2, help="so many at once")
    parser.add_argument("--map", action="store_true", help="find anew who reaches what")
    parser.add_argument("--record", action="store_true", help="remember who caught what")
    parser.add_argument("--draw", type=int, metavar="N", help="N drawn ones instead of the listed")
    parser.add_argument("--seed", default="0", help="what is drawn")
    parser.add_argument("--reach", default=str(STORED), metavar="FILE", help="where the map is")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
