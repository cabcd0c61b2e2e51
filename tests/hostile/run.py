"""`make hostile`: a hostile model among people, workers that die, and an owner who decides.

Every other run has the entries of `tests/hostile/entries` beside them, such as webhooks.

The last lines sum up. A violation is printed with the seed of its run; `--repro SEED` plays that
run alone. Then every laundering route is walked (`tests/hostile/routes`), and every seeded bug
hunted, unless `--no-routes` and `--no-bugs` say otherwise.
"""

import argparse
import logging
import os
import sys
import tempfile
import time
from pathlib import Path

from tests.hostile.bugs import BUGS, hunt
from tests.hostile.entries.all import ENTRIES_OF_RUNS
from tests.hostile.playing import Totals, play, summary
from tests.hostile.routes.entries import ENTRIES
from tests.hostile.routes.fields import action_fields
from tests.hostile.routes.walks import Walk, every_walk, problems, routes_summary

_SHOWN = 20


def told(line: str) -> None:
    """Say it at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def caught(place: Path | None) -> bool:
    """Hunt every seeded bug; False when one is never caught."""
    found = 0
    for bug in BUGS:
        trace = hunt(bug, place)
        found += trace is not None
        told(
            f"  {bug.name}: {'NEVER CAUGHT' if trace is None else f'{trace[0]}: {trace[1][:120]}'}"
        )
    told(f"hostile: {found}/{len(BUGS)} bugs caught")
    return found == len(BUGS)


def walked(place: Path | None) -> bool:
    """Walk every laundering route; False when a word came into a clean prompt."""
    done: list[Walk] = []
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="opencrab-routes-", dir=place) as folder:
        for each in every_walk((*action_fields(), *ENTRIES), Path(folder)):
            done.append(each)
            for problem in problems(each):
                wrong += 1
                told(f"VIOLATION: {problem[:400]}")
    told(routes_summary(done, wrong))
    return not wrong


def main() -> int:
    """Parse the arguments and go."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=100_000, help="moves and model answers")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--repro", metavar="SEED")
    parser.add_argument("--no-bugs", action="store_true")
    parser.add_argument("--no-routes", action="store_true")
    chosen = parser.parse_args()
    logging.disable(logging.CRITICAL)
    shared = Path("/dev/shm")  # noqa: S108 - each run has a private folder in it
    place = shared if os.access(shared, os.W_OK) else None
    totals, number, began = Totals(), 0, time.monotonic()
    while totals.steps < chosen.steps and len(totals.violations) < _SHOWN:
        seed = chosen.repro or f"{chosen.seed}/{number}"
        # Every other run has more ways in; a seed says which, so that it can be played again.
        entries = ENTRIES_OF_RUNS if seed[-1:] in "13579" else ()
        for problem in play(place, seed, totals, entries=entries):
            told(f"VIOLATION in {seed}: {problem[:400]}")
        if chosen.repro:
            break
        number += 1
    for line in summary(totals, time.monotonic() - began):
        told(line)
    routes = chosen.no_routes or chosen.repro is not None or walked(place)
    bugs = chosen.no_bugs or chosen.repro is not None or caught(place)
    return 0 if routes and bugs and not totals.violations else 1


if __name__ == "__main__":
    sys.exit(main())
