"""The learning report on a day or week of an agent, in its workspace, in two languages."""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from opencrab.domain.errors import Conflict, TooLarge
from opencrab.domain.insight.calibration import self_grade_calibration_curve
from opencrab.domain.learning.change import Adjustment, AdjustmentKind
from opencrab.domain.learning.evidence import Evidence
from opencrab.domain.learning.review_period import KEPT, ReviewPeriod, ReviewResult, ReviewSpan
from opencrab.domain.statistics.confidence import Estimate, estimate_difference, estimate_mean
from opencrab.domain.usage.counters import DailyTally
from opencrab.engine.learning.aggregation import learning_days
from opencrab.engine.learning.report.files import (
    LANGUAGES,
    NightReport,
    learning_report_with_section,
)
from opencrab.engine.learning.report.phrases import ReportPhrases, learning_report_usd
from opencrab.engine.learning.report.wording import (
    is_learning_report_worded,
    learning_report_wording_section,
    settle_learning_report_wording,
    stored_learning_report_wording,
)
from opencrab.engine.learning.snapshot import NightlyContext

log = logging.getLogger(__name__)

_WORTH_TELLING = 0.1
"""Share of failed calls above which a model is reported as waste."""

_FEW = 10
_CHEAPER = 0.8
_LISTED, _CHANGES = 20, 30


@dataclass(frozen=True)
class PeriodSummary:
    """Evidence of a period's turns, and the tallies of its calls."""

    evidence: Evidence
    tallies: tuple[DailyTally, ...]

    @property
    def spent_micro_usd(self) -> int:
        """Total cost of the calls in micro-dollars."""
        return sum(tally.counts.get("cost", 0) for tally in self.tallies)


def report_period(scene: NightlyContext, stretch: ReviewPeriod) -> PeriodSummary:
    """Return the summary of a period; a week is computed again from its turns' signals."""
    runtime, agent_id = scene.runtime, scene.agent.id
    if stretch.span is not ReviewSpan.WEEKLY:
        evidence = scene.known.open.get(stretch.last, Evidence())
    else:
        days = learning_days(runtime.home, agent_id, stretch.first, stretch.last, {})
        evidence = sum((each.evidence for each in days.values()), Evidence())
    first, last = stretch.first.isoformat(), stretch.last.isoformat()
    return PeriodSummary(evidence, runtime.home.tallies.between(agent_id, first, last))


def write_report(
    scene: NightlyContext, looked: ReviewResult, during: PeriodSummary
) -> ReviewResult:
    """Write the report in both languages; a failure is logged and returned as `problem`.

    Requests the wording by a model if the owner enabled it. Raises Unavailable if that request
    cannot be queued.
    """
    agent, home = scene.agent, scene.runtime.home
    page = NightReport(home, agent.id, looked.period, scene.at + KEPT)
    wording = stored_learning_report_wording(scene, looked)
    paths = list[str]()
    for language in LANGUAGES:
        text = _learning_report(scene, looked, during, ReportPhrases(language))
        if wording is not None and language is wording.language:
            section = learning_report_wording_section(wording, text)
            text = learning_report_with_section(text, section)
        try:
            paths.append(page.put(language, text, known=is_learning_report_worded(agent, looked)))
        except (Conflict, TooLarge) as error:
            log.warning("cannot write learning report: agent=%s, error=%s", agent.id, error.message)
            return looked.replaced(report=tuple(paths), problem=error.message)
    settle_learning_report_wording(scene, looked, wording)
    return looked.replaced(report=tuple(paths))


def _learning_report(
    scene: NightlyContext, looked: ReviewResult, during: PeriodSummary, say: ReportPhrases
) -> str:
    span, _, name = looked.period.partition("-")
    title = "title_daily" if span == ReviewSpan.DAILY else "title_weekly"
    parts = {
        "budget_head": _budget(looked, during, say),
        "quality_head": _quality(scene, say),
        "waste_head": _waste(scene, during, say),
        "changes_head": _changes(looked, say),
        "skills_head": _skills(looked, say),
        "memories_head": _memories(scene, looked, say),
        "grades_head": _grades(scene, say),
    }
    turns = say("turns", turns=looked.turns, judged=looked.judged)
    told = [f"{say(title, name=scene.agent.name, period=name)}\n\n{turns}\n"]
    told += ["\n".join((say(head), "", *lines, "")) for head, lines in parts.items()]
    return "\n".join(told)


def _budget(looked: ReviewResult, during: PeriodSummary, say: ReportPhrases) -> Iterator[str]:
    if not during.tallies:
        yield say("budget_none")
        return
    spent, budget = looked.spent_micro_usd, looked.budget_micro_usd
    yield say(
        "budget_yes" if spent <= budget else "budget_no",
        spent=learning_report_usd(spent),
        budget=learning_report_usd(budget),
        share=f"{100 * spent / budget:.1f} %" if budget else "-",
    )
    for model, counts in _by_model(during.tallies).items():
        timed = counts.get("timed", 0)
        latency = f"{counts.get('latency', 0) / timed / 1_000:.1f} s" if timed else ""
        yield say(
            "model",
            model=model,
            calls=counts.get("calls", 0),
            failed=counts.get("failed", 0),
            cost=learning_report_usd(counts.get("cost", 0)),
            latency=latency or say("no_latency"),
        )


def _quality(scene: NightlyContext, say: ReportPhrases) -> Iterator[str]:
    goal = scene.agent.llm.aim.min_quality
    known = ((key, estimate_mean(each.value_sums)) for key, each in scene.evidence.models.items())
    judged = sorted((key, found) for key, found in known if found is not None)
    yield say("goal", goal=f"{100 * goal:.0f} %") if judged else say("no_quality")
    for key, found in judged:
        says = "at_goal" if found.low >= goal else "near_goal"
        says = "below_goal" if found.high < goal else says
        (subject, model), quality = _split_evidence_key(key), say.percent(found)
        yield say(
            "quality", subject=subject, model=model, quality=quality, turns=found.n, says=say(says)
        )


def _waste(scene: NightlyContext, during: PeriodSummary, say: ReportPhrases) -> Iterator[str]:
    """Yield expensive models that are not better, and models with many failed calls."""
    pairs = (
        (first, second)
        for first, second in combinations(sorted(scene.evidence.models), 2)
        if _split_evidence_key(first)[0] == _split_evidence_key(second)[0]
    )
    compared = [_dearer(scene.evidence, *pair, say) for pair in pairs]
    lines = [line for line in compared if line]
    for model, counts in _by_model(during.tallies).items():
        calls, failed = counts.get("calls", 0), counts.get("failed", 0)
        if failed > _WORTH_TELLING * calls:
            lines.append(say("waste_failed", model=model, calls=calls, failed=failed))
    is_known = any(line is not None for line in compared)
    yield from lines or [say("waste_none" if is_known else "waste_unknown")]


def _dearer(evidence: Evidence, first: str, second: str, say: ReportPhrases) -> str | None:
    """Return a line if the more expensive of two models is not better, else "".

    None without costs, or with fewer than 10 judged turns of either.
    """
    one, other = evidence.models[first].cost.mean, evidence.models[second].cost.mean
    if one is None or other is None:
        return None
    dear, cheap = (first, second) if one >= other else (second, first)
    dear_cost, cheap_cost = max(one, other), min(one, other)
    above, below = evidence.models[dear].value_sums, evidence.models[cheap].value_sums
    found = estimate_difference(above, below)
    if found is None or min(above.n, below.n) < _FEW:
        return None
    if found.low > 0 or found.mean > 0 or cheap_cost > _CHEAPER * dear_cost:
        return ""
    return say(
        "waste",
        subject=_split_evidence_key(dear)[0],
        dear=_split_evidence_key(dear)[1],
        cheap=_split_evidence_key(cheap)[1],
        dear_cost=learning_report_usd(dear_cost),
        cheap_cost=learning_report_usd(cheap_cost),
        difference=say.points(found),
    )


def _changes(looked: ReviewResult, say: ReportPhrases) -> Iterator[str]:
    """Yield a line for each change or proposal, then for each subject without one, and why."""
    for each in looked.adjustments[:_CHANGES]:
        yield _change(each, say)
    more = len(looked.adjustments) - _CHANGES
    if more > 0:
        yield say("too_few", count=more)
    if not looked.adjustments:
        yield say("change_none")
    for still in looked.standstills:
        yield say("still", subject=still.subject, reason=say.reason(still.reason))


def _change(made: Adjustment, say: ReportPhrases) -> str:
    is_every = made.kind is AdjustmentKind.MODELS and made.subject == "all"
    kind = f"{made.kind.value}_all" if is_every else made.kind.value
    return say(
        "change",
        subject=say(f"{kind}_subject", name=made.subject),
        before=_standing(made, made.before, say),
        after=_standing(made, made.after, say),
        state=say(made.state.value),
        reason=say.reason(made.reason),
        evidence=_evidence(made, say),
        id=made.id,
    )


def _standing(made: Adjustment, told: Mapping[str, Any], say: ReportPhrases) -> str:
    word = told.get("remark", told.get("status"))
    if "weights" in told:
        listed = sorted(told["weights"].items(), key=lambda item: (-item[1], item[0]))
        return say("between").join(f"{alias} {100 * weight:.0f} %" for alias, weight in listed)
    if made.kind is AdjustmentKind.EXPERIENCE:
        return say(f"{made.kind.value}_{word}")
    if "leave" in told:
        return say(f"{made.kind.value}_{told['leave']}")
    if "withheld_percent" in told:
        return say("withheld", percent=told["withheld_percent"])
    if told.get("only"):
        return say("active_only", tasks=", ".join(told["only"]))
    return say("nothing") if word is None else say(str(word), other=told.get("other", ""))


def _evidence(made: Adjustment, say: ReportPhrases) -> str:
    told = made.evidence
    if made.kind is AdjustmentKind.SKILL and "points" in told:
        points = say.points_between(told["points"], told["low"], told["high"])
        return say("evidence_skill", points=points, given=told["given"], held=told["held"])
    if made.kind is AdjustmentKind.EXPERIENCE and "alike" in told:
        return say("evidence_twin", percent=f"{100 * told['alike']:.0f}")
    if made.kind is AdjustmentKind.EXPERIENCE:
        return say("evidence_experience", found=told["found"], useful=told["useful"])
    if made.kind is AdjustmentKind.MODELS and "quality" in told:
        quality = say.percent(Estimate.model_validate(told["quality"]))
        cost, turns = learning_report_usd(told["cost_micro_usd"]), told["turns_a_day"]
        return say("evidence_models", quality=quality, cost=cost, turns=turns)
    return ""


def _skills(looked: ReviewResult, say: ReportPhrases) -> Iterator[str]:
    for review in looked.reviews:
        effect = say("no_effect")
        if review.effect is not None:
            turns = review.given + review.held
            effect = say("effect", points=say.points(review.effect), turns=turns)
        status, remark = say(review.status), say(review.remark.value, other=review.other)
        yield say("skill", name=review.skill, status=status, effect=effect, remark=remark)
    if not looked.reviews:
        yield say("skill_none")


def _memories(scene: NightlyContext, looked: ReviewResult, say: ReportPhrases) -> Iterator[str]:
    if looked.junk.rate is None:
        yield say("memories_none")
    for key, junk in (("memories", looked.junk), ("experiences", looked.lived)):
        if junk.rate is not None:
            useless, rate = round(junk.rate * junk.found), f"{100 * junk.rate:.0f} %"
            yield say(key, found=junk.found, useless=useless, rate=rate)
    found = estimate_difference(scene.evidence.memories.given, scene.evidence.memories.held)
    if found is not None:
        yield say("memories_effect", points=say.points(found))


def _grades(scene: NightlyContext, say: ReportPhrases) -> Iterator[str]:
    curves = (
        (model, self_grade_calibration_curve(bins))
        for model, bins in sorted(scene.evidence.grades.items())
    )
    known = [(model, curve) for model, curve in curves if curve.points]
    for model, curve in known:
        steps = (
            say("step", said=f"{each.said:.2f}", came_to=f"{each.came_to:.2f}")
            for each in curve.points
        )
        weight = f"{100 * curve.weight:.0f} %"
        yield say("grade", model=model, weight=weight, steps=say("between").join(steps))
    if not known:
        yield say("grades_none")


def _by_model(tallies: tuple[DailyTally, ...]) -> dict[str, dict[str, int]]:
    """Sum the counts of each model, most expensive first, at most 20."""
    found: dict[str, dict[str, int]] = {}
    for tally in tallies:
        counts = found.setdefault(tally.cell.name, {})
        for name, count in tally.counts.items():
            counts[name] = counts.get(name, 0) + count
    dearest = sorted(found.items(), key=lambda item: (-item[1].get("cost", 0), item[0]))
    return dict(dearest[:_LISTED])


def _split_evidence_key(key: str) -> tuple[str, str]:
    """Split a key of evidence into PURPOSE/TASK_TYPE and model."""
    purpose, task_type, model = key.split("/", 2)
    return f"{purpose}/{task_type}", model
