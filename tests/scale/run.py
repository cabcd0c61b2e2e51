"""`make scale`: turns that meet at the budget of an installation, before and after its leases."""

import argparse
import logging
import sys

from tests.scale.contention import Load, Outcome, Simulation

RATES = (15.0, 45.0, 100.0)
FAST = 1_000.0


def row(way: str, rate: float, out: Outcome) -> str:
    """One load as a row of a table."""
    return (
        f"| {way} | {rate:g} | {out.turns:,} | {out.statuses['completed']:,} | "
        f"{100 * out.retries:.1f} % | {out.redeliveries:,} | {out.paid_twice:,} | "
        f"{out.seconds - out.turns / rate:.1f} s |"
    )


def told(line: str) -> None:
    """Say it at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    """Run the loads and print what came of each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=4.0, help="how long turns come in")
    parser.add_argument("--fast-seconds", type=float, default=2.0)
    parser.add_argument("--agents", type=int, default=1_000, help="at the highest rate")
    chosen = parser.parse_args()
    logging.disable(logging.CRITICAL)
    told("| draws | turns/s | turns | completed | retries | comebacks | paid twice | last ended |")
    told("|---|---|---|---|---|---|---|---|")
    for rate in RATES:
        load = Load(rate, chosen.seconds, agents=50)
        told(row("in the turn", rate, Simulation(load, draws_in_turns=True).run()))
        told(row("from a lease", rate, Simulation(load).run()))
    fast = Simulation(Load(FAST, chosen.fast_seconds, chosen.agents)).run()
    told(row("from a lease", FAST, fast))
    return int(fast.retries >= 0.01 or fast.paid_twice > 0 or fast.ended < fast.turns)


if __name__ == "__main__":
    sys.exit(main())
