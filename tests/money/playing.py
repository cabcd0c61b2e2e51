"""Run after run in one town, and what they come to."""

from collections import Counter
from dataclasses import dataclass, field

from tests.money.account import PICO
from tests.money.invariants import at_rest, kinds, overspend, problems
from tests.money.run import Run
from tests.money.town import Bug, Town

SHOWN = 20


@dataclass
class Totals:
    """What runs came to."""

    counts: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    scopes: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    violations: list[tuple[str, list[str]]] = field(default_factory=list)


def play(
    town: Town,
    seed: str,
    totals: Totals,
    conflicts: float | None = None,
    *,
    bug: Bug | None = None,
    most: int = 30,
) -> list[str]:
    """Play the run of one seed, of at most so many messages; answers what went wrong."""
    runtime = town.prepare(seed, conflicts, bug or Bug())
    run = Run(town, runtime, town.dice.randint(min(8, most), most))
    try:
        run.to_rest()
    finally:
        run.end()
    rest = at_rest(town)
    found = problems(town, rest)
    if found:
        totals.violations.append((seed, found))
    entries = rest.book
    totals.counts.update(
        runs=1,
        steps=town.scheduler.points,
        turns=len(rest.turns),
        reservations=len(town.account.intents),
        received=len(entries),
        unknown=sum(row.state == "unknown" for row in rest.rows),
        fallbacks=sum(row.chosen_by == "fallback" for row in rest.rows),
        billed=sum(entry.picos for entry in entries),
        unknowable=sum(max(entry.beyond, entry.concealed) for entry in entries),
        charged=sum(row.cost for row in rest.rows),
        drawn=sum(n for (scope, _), n in rest.drawn.items() if scope == "installation"),
        days=len({day for scope, day in rest.drawn if scope == "installation"}),
        overspend=overspend(town, rest),
        kills=town.scheduler.kills,
        sleepers=town.scheduler.sleeps,
        conflicts=town.conflicts_met,
    )
    totals.faults.update(row.fault.value for row in rest.rows if row.fault is not None)
    totals.ends.update(turn.status.value for turn in rest.turns.values())
    totals.scopes.update(kinds(rest.drawn))
    return found


def play_steps(town: Town, seed: int, steps: int, conflicts: float | None) -> Totals:
    """Run after run until there were so many steps."""
    totals, number = Totals(), 0
    while totals.counts["steps"] < steps and len(totals.violations) < SHOWN:
        play(town, f"{seed}/{number}", totals, conflicts)
        number += 1
    return totals


def summary(name: str, totals: Totals, seconds: float) -> str:
    """One paragraph for those who read only one."""
    n = totals.counts
    unused = n["drawn"] - n["charged"]
    ends = ", ".join(f"{count:,} {status}" for status, count in totals.ends.most_common())
    return (
        f"money on {name}: {n['steps']:,} steps in {n['runs']:,} runs, {n['turns']:,} turns "
        f"({ends}), {n['reservations']:,} reservations ({n['fallbacks']:,} for fallbacks, "
        f"{n['unknown']:,} ended unknown), {n['received']:,} calls received, "
        f"billed {n['billed'] // PICO:,} micro-dollars "
        f"({n['unknowable'] // PICO:,} of it beyond prices or unreported) "
        f"<= charged {n['charged']:,} <= drawn {n['drawn']:,} ({unused:,} unused after kills), "
        f"overspend {n['overspend'] / PICO:g}, "
        f"{n['kills']:,} kills, {n['sleepers']:,} zombies, {n['conflicts']:,} conflicts, "
        f"{n['days'] - n['runs']:,} more days, {len(totals.violations)} violations, "
        f"{seconds:.0f} s: {'FAILED' if totals.violations else 'OK'}"
    )
