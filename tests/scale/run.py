"""`make scale`: turns that meet at one budget, and what waits for the sweep after an outage."""

import argparse
import logging
import sys

from tests.scale.contention import Load, Outcome, Simulation
from tests.scale.nights import Nightfall
from tests.scale.recovery import Recovery

RATES = (15.0, 45.0, 100.0)
FAST = 1_000.0
MOST_SECONDS = 300.0
"""How long a turn of a backlog may wait."""

MOST_NIGHT_SECONDS = 3_600.0
"""How long a night may take until all agents are reviewed."""

MOST_DUE_SECONDS = 10.0
"""How long something may wait after its time when 10,000 others have the same minute."""


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
    parser.add_argument("--waiting", type=int, default=10_000, help="turns, due items and nights")
    parser.add_argument("--beating", type=int, default=100_000, help="agents with a heartbeat")
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
    is_slow = sweeps(chosen.waiting, chosen.beating)
    is_slow |= nights(chosen.waiting)
    return int(is_slow or fast.retries >= 0.01 or fast.paid_twice > 0 or fast.ended < fast.turns)


def sweeps(waiting: int, agents: int) -> bool:
    """Let so many things wait for the sweep; True if any waits longer than it may."""
    told("\n| what waits | number | begun | mean wait | longest wait |\n|---|---|---|---|---|")
    is_slow = False
    for found, most in (
        (Recovery().dead_workers(waiting), MOST_SECONDS),
        (Recovery().due_at_once(waiting), MOST_DUE_SECONDS),
        (Recovery().heartbeats(agents), MOST_SECONDS),
    ):
        mean = sum(found.seconds) / max(len(found.seconds), 1)
        told(
            f"| {found.name} | {found.wanted:,} | {len(found.seconds):,} | {mean:.0f} s | "
            f"{found.longest:.0f} s |"
        )
        is_slow |= len(found.seconds) < found.wanted or found.longest > most
    return is_slow


def nights(agents: int) -> bool:
    """Let the night of so many agents come; True if it takes longer than an hour."""
    alone = Nightfall(agents // 50, is_divided=False).run()
    one = max(alone.done, default=0.0) * 50
    told("\n| nights | at a time | reviewed | failed | called | last done after | one function |")
    told("|---|---|---|---|---|---|---|")
    is_late = False
    for functions in (4, 21):
        night = Nightfall(agents, functions=functions).run()
        last = max(night.done, default=0.0)
        told(
            f"| {agents:,} | {functions} | {night.agents_reviewed:,} | {night.failed} | "
            f"{night.calls} | {last:,.0f} s | {one / 3_600:.1f} h of its time |"
        )
        is_late |= night.agents_reviewed < agents or last > MOST_NIGHT_SECONDS
    return is_late


if __name__ == "__main__":
    sys.exit(main())
