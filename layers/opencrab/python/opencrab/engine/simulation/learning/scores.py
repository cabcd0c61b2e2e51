"""Scores of learning policies in one simulated environment, and over many seeds."""

from collections.abc import Iterable, Sequence

from opencrab.domain.value import MicroUsd, Value

STEPS = (50, 100, 200, 300, 400, 600)
"""Numbers of judged turns at which the share of decided skills is reported."""

KINDS = ("helpful", "harmful", "idle")
_HUNDRED = 100


class MeasuredInterval(Value):
    """An estimate in points with its 95 % confidence interval, and the true value.

    Numbers that could not be computed are None.
    """

    turns: int
    points: float | None = None
    low: float | None = None
    high: float | None = None
    truth: float | None = None

    @property
    def holds(self) -> bool | None:
        """True if the interval contains the true value; None without an interval."""
        if self.low is None or self.high is None or self.truth is None:
            return None
        return self.low <= self.truth <= self.high


class SkillFate(MeasuredInterval):
    """Outcome of a skill: its verdict, and its effect then, or at the end if there is none.

    `turns` are the judged turns of its trial, `truth` is its true effect on the value of turns as
    measured by signals, `true_quality` its true effect on their quality.
    """

    skill: str
    kind: str
    verdict: str
    reason: str = ""
    night: int | None = None
    true_quality: float


class MeasuredQuality(MeasuredInterval):
    """A model's measured quality for a type of task, with its true value."""

    subject: str


class RuleScore(Value):
    """Score of one policy; regret is in points of quality per turn, against the optimal policy.

    `late` is the regret of the last third of all turns.
    """

    regret: float
    late: float
    most_spent_in_a_day: MicroUsd
    unanswered: int
    within_budget: bool


class QualityDrop(Value):
    """A model whose quality dropped on a night, and the nights until another was chosen."""

    subject: str = ""
    model: str = ""
    night: int = 0
    left_after: int | None = None


class LearningTrial(Value):
    """Results of one seed; `undone` is true if the newest change could be undone completely."""

    seed: int
    lying: bool
    nights: int
    turns_a_day: int
    day_micro_usd: MicroUsd
    best_quality: float
    outcomes: dict[str, RuleScore]
    fates: tuple[SkillFate, ...]
    qualities: tuple[MeasuredQuality, ...]
    changes: int
    undone: bool
    dropped: QualityDrop


class IntervalCoverage(Value):
    """Coverage of confidence intervals: `held` of `of` intervals contain the true value."""

    held: int
    of: int

    @property
    def share(self) -> float | None:
        """Share of intervals that contain the true value; None if there are none."""
        return round(self.held / self.of, 4) if self.of else None


class TrialScore(Value):
    """Skills of one kind: counts by verdict, and the judged turns until a verdict.

    `promoted_by` and `retired_by` are shares of all skills of the kind, by number of judged turns
    (STEPS).
    """

    skills: int
    promoted: int
    retired: int
    open: int
    median_turns: int | None
    promoted_by: dict[int, float]
    retired_by: dict[int, float]


class LearningTrialSummary(Value):
    """Results over many seeds; regrets are means in points, `won` counts seeds with less regret."""

    seeds: int
    lying: bool
    effects_at_decision: IntervalCoverage
    effects: IntervalCoverage
    qualities: IntervalCoverage
    skills: dict[str, TrialScore]
    within_budget: bool
    unanswered: int
    regret: dict[str, float]
    late: dict[str, float]
    won: dict[str, int]
    changes: float
    dropped: int
    left: int
    nights_until: float | None
    undone: int


def simulated_policy_score(
    regrets: Sequence[float], *, most_spent: int, day_micro_usd: int, unanswered: int
) -> RuleScore:
    """Compute a policy's score from its regret per turn; late regret is the last third's."""
    late = regrets[-max(len(regrets) // 3, 1) :]
    return RuleScore(
        regret=round(_HUNDRED * sum(regrets) / len(regrets), 3),
        late=round(_HUNDRED * sum(late) / len(late), 3),
        most_spent_in_a_day=most_spent,
        unanswered=unanswered,
        within_budget=most_spent <= day_micro_usd,
    )


def combine_simulation_results(all_of: Sequence[LearningTrial]) -> LearningTrialSummary:
    """Combine the results of at least one seed."""
    fates = [fate for each in all_of for fate in each.fates]
    ours = [each.outcomes["ours"] for each in all_of]
    rules = tuple(all_of[0].outcomes)
    drops = [each.dropped for each in all_of if each.dropped.night]
    waited = [each.left_after for each in drops if each.left_after is not None]
    return LearningTrialSummary(
        seeds=len(all_of),
        lying=all_of[0].lying,
        effects_at_decision=simulated_interval_coverage(
            fate for fate in fates if fate.night is not None
        ),
        effects=simulated_interval_coverage(fates),
        qualities=simulated_interval_coverage(each for one in all_of for each in one.qualities),
        skills={
            kind: _verdict_summary([fate for fate in fates if fate.kind == kind]) for kind in KINDS
        },
        within_budget=all(each.within_budget for each in ours),
        unanswered=sum(each.unanswered for each in ours),
        regret={name: _mean(each.outcomes[name].regret for each in all_of) for name in rules},
        late={name: _mean(each.outcomes[name].late for each in all_of) for name in rules},
        won={
            name: sum(each.outcomes["ours"].regret < each.outcomes[name].regret for each in all_of)
            for name in rules
            if name != "ours"
        },
        changes=_mean(each.changes for each in all_of),
        dropped=len(drops),
        left=sum(each.left_after is not None for each in drops),
        nights_until=_mean(waited) if waited else None,
        undone=sum(each.undone for each in all_of),
    )


def simulated_interval_coverage(intervals: Iterable[MeasuredInterval]) -> IntervalCoverage:
    """Count the intervals that contain the true value; missing intervals do not count."""
    known = [each.holds for each in intervals if each.holds is not None]
    return IntervalCoverage(held=sum(known), of=len(known))


def simulation_share_in_points(value: float | None) -> float | None:
    """Convert a share to points of 100; None stays None."""
    return None if value is None else round(_HUNDRED * value, 3)


def _verdict_summary(fates: Sequence[SkillFate]) -> TrialScore:
    promoted = [fate for fate in fates if fate.verdict == "promote"]
    retired = [fate for fate in fates if fate.verdict == "retire"]
    turns = sorted(fate.turns for fate in (*promoted, *retired))
    return TrialScore(
        skills=len(fates),
        promoted=len(promoted),
        retired=len(retired),
        open=len(fates) - len(promoted) - len(retired),
        median_turns=turns[len(turns) // 2] if turns else None,
        promoted_by={step: _by(step, promoted, len(fates)) for step in STEPS},
        retired_by={step: _by(step, retired, len(fates)) for step in STEPS},
    )


def _by(step: int, decided: Sequence[SkillFate], of: int) -> float:
    return round(sum(fate.turns <= step for fate in decided) / of, 4) if of else 0.0


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return round(sum(listed) / len(listed), 3)
