"""`make money`: turns that draw, reserve, settle and crash, and the vendors' bill for them.

The last lines sum up, one for each home, and one for the leases of budgets on AWS. A violation is
printed with the seed of its run; `--repro SEED` plays that run alone.
"""

import argparse
import gc
import logging
import os
import sys
import tempfile
import time
from pathlib import Path

from tests.crash.aws_ground import AwsGround
from tests.crash.ground import Ground
from tests.crash.sqlite_ground import SqliteGround
from tests.money.leases import lease_summary, play_leases
from tests.money.playing import Totals, play, play_steps, summary
from tests.money.town import Town

_AWS_SHARE = 100


def report(name: str, ground: Ground, chosen: argparse.Namespace, steps: int) -> bool:
    """Play on one home and say what came of it; False when something was wrong."""
    began = time.monotonic()
    town = Town(ground)
    conflicts = None if chosen.conflicts is None else chosen.conflicts / 100
    try:
        if chosen.repro:
            totals = Totals()
            play(town, chosen.repro, totals, conflicts)
        else:
            totals = play_steps(town, chosen.seed, steps, conflicts)
    finally:
        ground.close()
    for seed, found in totals.violations:
        told(f"VIOLATION in {seed}: {'; '.join(found[:5])}")
        share = "" if chosen.conflicts is None else f" --conflicts {chosen.conflicts:g}"
        told(f"  again: python -m tests.money.simulate --home {name} --repro {seed}{share}")
    told(summary(name, totals, time.monotonic() - began))
    return not totals.violations


def told(line: str) -> None:
    """Say it at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    """Parse the arguments and go."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1_000_000, help="I/O points on SQLite")
    parser.add_argument("--aws-steps", type=int, help="I/O points on AWS; a hundredth by default")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--conflicts", type=float, help="per cent of all writes of the journal")
    parser.add_argument("--home", choices=("sqlite", "aws"), help="one only; both by default")
    parser.add_argument("--repro", metavar="SEED")
    chosen = parser.parse_args()
    logging.disable(logging.CRITICAL)
    fine = True
    if chosen.home != "aws":
        shared = Path("/dev/shm")  # noqa: S108 - the folder in it is private
        place = shared if os.access(shared, os.W_OK) else None
        with tempfile.TemporaryDirectory(prefix="opencrab-money-", dir=place) as folder:
            gc.freeze()
            fine = report("sqlite", SqliteGround(Path(folder)), chosen, chosen.steps)
    if chosen.home != "sqlite" and not (chosen.repro and chosen.home is None):
        steps = chosen.steps // _AWS_SHARE if chosen.aws_steps is None else chosen.aws_steps
        fine = report("aws", AwsGround(), chosen, steps) and fine
    if chosen.home != "sqlite" and not chosen.repro:
        began = time.monotonic()
        leased = play_leases(chosen.seed, chosen.steps)
        for problem in leased.problems[:5]:
            told(f"VIOLATION in leases {problem}")
        told(lease_summary(leased, time.monotonic() - began))
        fine = not leased.problems and fine
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
