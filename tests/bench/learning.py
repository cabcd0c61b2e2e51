"""What learning comes to over many made-up worlds: `python -m tests.bench.learning [SEEDS]`.

It prints the last section of docs/benchmarks.md, and writes it there when all SEEDS were measured.
It fails where a target is missed: intervals that hold in less than 90 %, a day over budget, regret
not below both others. `make bench` leaves the section as it is,
since it takes ten minutes of two processors.
"""

import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from opencrab.engine.simulation.learning.scores import (
    KINDS,
    STEPS,
    IntervalCoverage,
    LearningTrialSummary,
    combine_simulation_results,
)
from opencrab.engine.simulation.learning.trial import NIGHTS, TURNS, run_simulated_learning_trial
from tests.bench.world import ROOT

PAGE = ROOT / "docs" / "benchmarks.md"
HEADING = "\n## Learning\n"
SEEDS = 200
LEAST_HELD = 0.9
RULES = {"ours": "ours", "greedy": "always the best so far", "self_grade": "by self-grades"}


def kept(text: str) -> str:
    """A page from this section on; "" where it has none."""
    _, found, rest = text.partition(HEADING)
    return found + rest


def lessons(seeds: int, *, lying: bool) -> LearningTrialSummary:
    """So many worlds, on all processors."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        return combine_simulation_results(
            list(pool.map(partial(run_simulated_learning_trial, lying=lying), range(1, seeds + 1)))
        )


def require_targets(found: LearningTrialSummary) -> None:
    """Fail where a target is missed."""
    for held in (found.effects_at_decision, found.effects, found.qualities):
        assert (held.share or 0.0) >= LEAST_HELD, held
    assert found.within_budget
    for rule in ("greedy", "self_grade"):
        assert found.regret["ours"] < found.regret[rule], found.regret
    assert found.undone == found.seeds


def page(honest: LearningTrialSummary, lying: LearningTrialSummary) -> str:
    """Both as tables."""
    both = (honest, lying)
    rows = [
        _row("intervals of effects when decided that hold the truth", both, _effects),
        _row("of effects in the end", both, lambda each: _share(each.effects)),
        _row("of models' qualities", both, lambda each: _share(each.qualities)),
        _row("days over budget", both, lambda x: "none" if x.within_budget else "**some**"),
        *(
            _row(f"regret, {name} (points a turn)", both, partial(_regret, rule=rule))
            for rule, name in RULES.items()
        ),
        _row("worlds with less regret than the best so far", both, lambda x: str(x.won["greedy"])),
        _row("than self-grades", both, lambda each: str(each.won["self_grade"])),
        _row("changes of mixes in a world", both, lambda each: f"{each.changes:.1f}"),
        _row("a model got worse: another took its place", both, _replaced),
        _row("nights until then", both, lambda each: f"{each.nights_until or 0:.1f}"),
        _row("the newest change undone whole", both, lambda each: f"{each.undone} of {each.seeds}"),
    ]
    head = f"| over {honest.seeds} worlds | grades flatter | grades lie |\n|---|---|---|"
    return "\n".join([head, *rows, "", *_skills(honest)])


def _skills(found: LearningTrialSummary) -> list[str]:
    steps = " | ".join(f"≤ {step}" for step in STEPS)
    lines = [f"| judged turns | {steps} | in the end |", "|---" * (len(STEPS) + 2) + "|"]
    for kind in KINDS:
        decided = found.skills[kind]
        for word, by, whole in (
            ("promoted", decided.promoted_by, decided.promoted),
            ("retired", decided.retired_by, decided.retired),
        ):
            shares = " | ".join(f"{by[step]:.1%}" for step in STEPS)
            lines.append(f"| {kind}: {word} | {shares} | {whole / decided.skills:.1%} |")
    return lines


def _row(
    what: str, both: Sequence[LearningTrialSummary], told: Callable[[LearningTrialSummary], str]
) -> str:
    return f"| {what} | " + " | ".join(told(each) for each in both) + " |"


def _effects(found: LearningTrialSummary) -> str:
    return _share(found.effects_at_decision)


def _share(held: IntervalCoverage) -> str:
    return f"{held.share or 0:.1%} of {held.of:,}"


def _regret(found: LearningTrialSummary, *, rule: str) -> str:
    return f"{found.regret[rule]:.2f} ({found.late[rule]:.2f} in the last third)"


def _replaced(found: LearningTrialSummary) -> str:
    return f"{found.left} of {found.dropped}"


def main() -> None:
    """Measure, tell, require."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS
    honest, lying = (lessons(seeds, lying=each) for each in (False, True))
    section = f"{HEADING}\n{_INTRODUCTION}\n{page(honest, lying)}\n"
    sys.stdout.write(section)
    if seeds == SEEDS:
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(text.removesuffix(kept(text)) + section, encoding="utf-8")
    for each in (honest, lying):
        require_targets(each)


_INTRODUCTION = f"""\
Our way to learn and two others in made-up worlds whose truth is known (`tests/bench/learning.py`,
{NIGHTS} nights of {TURNS} turns each); [statistics](explanation/learning-statistics.md) has the
methods. Not timed: the same seeds give the same figures everywhere.

A world has five models, of which the best cannot be paid for all turns and which sometimes fail to
answer; three types of task; 20 skills, of which 5 help and 5 harm by 12 to 25 points and 10 do
nothing, and of which some of each kind make models act more often; signals that are noisy, and
missing in about a third of the turns; models that praise themselves, some more than others, or
(*grades lie*, `--lying`) the more the worse they are. `engine/simulation/learning/trial.py` runs
the product's own nightly functions in them.

The two other ways get the same questions and the same hard budget. *Always the best so far* gives
all twenty skills at once and drops what lies below the mean after 20 judged turns; *by self-grades*
does the same by what models say of themselves. Neither looks at prices. Regret is measured against
whoever knows everything, may use all helpful skills at once, and keeps to the budget.
"""


if __name__ == "__main__":
    main()
