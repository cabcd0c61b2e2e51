"""`make mutants`: seed one fault after another and see whether a test notices.

Each mutant meets every test file that executes its lines, in copies of the checkout, until one
fails. A failure counts only if the same test passes without the mutant. `--map` finds anew which
files reach which mutant, in one run of the whole suite; `--record` remembers who caught what.
"""

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from tests.mutants.mutant import Mutant
from tests.mutants.mutants import MUTANTS
from tests.mutants.reach import Reach, mapped
from tests.mutants.tree import Tree

FIRST = 3
"""Files that a mutant meets first: likely to fail, and quick to collect."""

_GROWTH = 4
_PATIENCE = 8
_START_SECONDS = 240


@dataclass(frozen=True)
class Found:
    """What became of a mutant: `killer` is the test that noticed it, "" when none did."""

    mutant: Mutant
    state: str
    seconds: float
    killer: str = ""

    def __str__(self) -> str:
        return f"{self.mutant.id:<32} {self.state:<9} {self.seconds:7.1f} s  {self.killer}"


class Judge:
    """Lets tests judge mutants, but for `unsound` ones, which fail without any."""

    def __init__(self, reach: Reach, unsound: Collection[str] = ()) -> None:
        self._reach = reach
        self._unsound = unsound

    def judged(self, tree: Tree, mutant: Mutant) -> Found:
        """Whether any test notices a mutant."""
        began = time.monotonic()
        mutated = mutant.mutated(mutant.source())
        for files in _batches(self._reach, self._reach.files_for(mutant)):
            usual = sum(self._reach.seconds.get(file, 1.0) for file in files)
            with tree.changed(mutant.path, mutated):
                verdict = tree.test(
                    files, seconds=_START_SECONDS + _PATIENCE * usual, but=self._unsound
                )
            if verdict.killer is not None or verdict.timed_out:
                state = "timeout" if verdict.timed_out else "caught"
                took = time.monotonic() - began
                return Found(mutant, state, took, verdict.killer or files[0])
        return Found(mutant, "SURVIVED", time.monotonic() - began)


def main() -> int:
    """Judge the mutants; 1 when one has survived."""
    # Started in the background we would ignore Ctrl-C, and so would tests that press it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    wanted = _wanted()
    chosen = [each for each in MUTANTS if not wanted.only or each.id in wanted.only]
    if not chosen:
        print("no mutant has that id", file=sys.stderr)
        return 2
    reach = Reach.read()
    with tempfile.TemporaryDirectory(prefix="opencrab-mutants-") as folder:
        if wanted.map:
            mapped(Path(folder), MUTANTS, wanted.jobs, reach.killers).write()
            return 0
        found = _sound(chosen, reach, Path(folder), wanted.jobs)
    survived = [each for each in found if each.state == "SURVIVED"]
    if wanted.record:
        caught = (each for each in found if each.state == "caught")
        reach.killers |= {each.mutant.id: each.killer.partition("::")[0] for each in caught}
        reach.write()
    for each in survived:
        print(f"{each.mutant.id}: {each.mutant.fault}")
    print(f"{len(found) - len(survived)} of {len(found)} mutants caught, {len(survived)} survived")
    return 1 if survived else 0


def _sound(mutants: Sequence[Mutant], reach: Reach, folder: Path, jobs: int) -> list[Found]:
    """What becomes of the mutants, judged again where the test that failed does so without them."""
    trees = [Tree(folder, str(n)) for n in range(min(jobs, len(mutants)))]
    found = {each.id: Found(each, "", 0) for each in mutants}
    unsound: set[str] = set()
    while pending := [each.mutant for each in found.values() if not each.state]:
        new = _all(pending, Judge(reach, unsound), trees)
        caught = {each.killer for each in new if each.state == "caught"}
        failing = trees[0].failing(caught) - unsound
        for test in sorted(failing):
            print(f"fails without a mutant, and is left out: {test}", flush=True)
        unsound |= failing
        found |= {each.mutant.id: each for each in new if each.killer not in failing}
    return list(found.values())


def _all(mutants: Sequence[Mutant], judge: Judge, trees: Sequence[Tree]) -> list[Found]:
    """What becomes of each mutant, several at once, told as it is known."""
    free = SimpleQueue[Tree]()
    for tree in trees:
        free.put(tree)

    def one(mutant: Mutant) -> Found:
        tree = free.get()
        try:
            found = judge.judged(tree, mutant)
        finally:
            free.put(tree)
        print(found, flush=True)
        return found

    with ThreadPoolExecutor(len(trees)) as pool:
        return list(pool.map(one, mutants))


def _batches(reach: Reach, files: Sequence[str]) -> Iterator[Sequence[str]]:
    """A few files, then more and more at once: most mutants need no more than the first."""
    start, size, limit = 0, 0.0, 5.0
    for place, file in enumerate(files, 1):
        size += reach.seconds.get(file, 1.0)
        if place == FIRST or (place > FIRST and size > limit) or place == len(files):
            yield files[start:place]
            start, size, limit = place, 0.0, limit * _GROWTH


def _wanted() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants.run", description=__doc__)
    parser.add_argument("--only", action="append", metavar="ID", help="this mutant alone")
    parser.add_argument("--jobs", type=int, default=2, help="so many at once")
    parser.add_argument("--map", action="store_true", help="find anew who reaches what")
    parser.add_argument("--record", action="store_true", help="remember who caught what")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
