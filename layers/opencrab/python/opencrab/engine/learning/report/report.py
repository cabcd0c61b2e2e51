"""The learning report on a day or week of an agent, in its workspace, in two languages."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from opencrab.domain.errors import Conflict, TooLarge
from opencrab.domain.insight.calibration import self_grade_calibration_curve
from opencrab.domain.learning.evidence import Evidence
from opencrab.domain.learning.review_period import KEPT, ReviewPeriod, ReviewResult, ReviewSpan
from opencrab.domain.statistics.confidence import estimate_difference, estimate_mean
from opencrab.domain.usage.counters import DailyTally
from opencrab.domain.value import Language
from opencrab.engine.learning.aggregation import learning_days
from opencrab.engine.learning.report.changes import (
    format_learning_report_percent,
    format_learning_report_points,
    learning_report_usd,
    report_change_lines,
)
from opencrab.engine.learning.report.files import (
    LANGUAGES,
    NightReport,
    learning_report_with_section,
)
from opencrab.engine.learning.report.phrases import learning_phrase
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
_LISTED = 20


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
        evidence = scene.aggregated.open.get(stretch.last, Evidence())
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
        text = _learning_report(scene, looked, during, language)
        if wording is not None and language is wording.language:
            text = learning_report_with_section(
                text, learning_report_wording_section(wording, text)
            )
        try:
            paths.append(page.put(language, text, known=is_learning_report_worded(agent, looked)))
        except (Conflict, TooLarge) as error:
            log.warning("cannot write learning report: agent=%s, error=%s", agent.id, error.message)
            return looked.replaced(report=tuple(paths), problem=error.message)
    settle_learning_report_wording(scene, looked, wording)
    return looked.replaced(report=tuple(paths))


def _learning_report(
    scene: NightlyContext, looked: ReviewResult, during: PeriodSummary, language: Language
) -> str:
    """Return the report as Markdown."""
    daily = looked.period.startswith(ReviewSpan.DAILY.value)
    title = learning_phrase(
        "title_daily" if daily else "title_weekly",
        language,
        name=scene.agent.name,
        period=looked.period.partition("-")[2],
    )
    turns = learning_phrase("turns", language, turns=looked.turns, judged=looked.judged)
    parts = {
        "budget_head": _budget(looked, during, language),
        "quality_head": _quality(scene, language),
        "waste_head": _waste(scene, during, language),
        "changes_head": report_change_lines(looked, language),
        "skills_head": _skills(looked, language),
        "memories_head": _memories(scene, looked, language),
        "grades_head": _grades(scene, language),
    }
    told = [f"{title}\n\n{turns}\n"]
    for head, lines in parts.items():
        body = "\n".join(lines)
        told.append(f"{learning_phrase(head, language)}\n\n{body}\n")
    return "\n".join(told)


def _budget(looked: ReviewResult, during: PeriodSummary, language: Language) -> Iterator[str]:
    if not during.tallies:
        yield learning_phrase("budget_none", language)
        return
    spent, budget = looked.spent_micro_usd, looked.budget_micro_usd
    share = f"{100 * spent / budget:.1f} %" if budget else "-"
    key = "budget_yes" if spent <= budget else "budget_no"
    yield learning_phrase(
        key,
        language,
        spent=learning_report_usd(spent),
        budget=learning_report_usd(budget),
        share=share,
    )
    for model, counts in _by_model(during.tallies).items():
        timed = counts.get("timed", 0)
        latency = f"{counts.get('latency', 0) / timed / 1_000:.1f} s" if timed else ""
        yield learning_phrase(
            "model",
            language,
            model=model,
            calls=counts.get("calls", 0),
            failed=counts.get("failed", 0),
            cost=learning_report_usd(counts.get("cost", 0)),
            latency=latency or learning_phrase("no_latency", language),
        )


def _quality(scene: NightlyContext, language: Language) -> Iterator[str]:
    goal = scene.agent.llm.aim.min_quality
    lines = []
    for key, known in sorted(scene.evidence.models.items()):
        found = estimate_mean(known.value_sums)
        if found is None:
            continue
        says = "near_goal"
        if found.low >= goal or found.high < goal:
            says = "at_goal" if found.low >= goal else "below_goal"
        subject, model = _split_evidence_key(key)
        line = learning_phrase(
            "quality",
            language,
            subject=subject,
            model=model,
            quality=format_learning_report_percent(found, language),
            turns=found.n,
            says=learning_phrase(says, language),
        )
        lines.append(line)
    if not lines:
        yield learning_phrase("no_quality", language)
        return
    yield learning_phrase("goal", language, goal=f"{100 * goal:.0f} %")
    yield from lines


def _waste(scene: NightlyContext, during: PeriodSummary, language: Language) -> Iterator[str]:
    """Yield expensive models that are not better, and models with many failed calls."""
    lines, compared = [], False
    known = sorted(scene.evidence.models)
    for first, second in combinations(known, 2):
        if _split_evidence_key(first)[0] != _split_evidence_key(second)[0]:
            continue
        line = _dearer(scene.evidence, first, second, language)
        compared = compared or line is not None
        if line:
            lines.append(line)
    for model, counts in _by_model(during.tallies).items():
        calls, failed = counts.get("calls", 0), counts.get("failed", 0)
        if failed > _WORTH_TELLING * calls:
            lines.append(
                learning_phrase("waste_failed", language, model=model, calls=calls, failed=failed)
            )
    if lines:
        yield from lines
    else:
        yield learning_phrase("waste_none" if compared else "waste_unknown", language)


def _dearer(evidence: Evidence, first: str, second: str, language: Language) -> str | None:
    """Return a line if the more expensive of two models is not better, else "".

    None without costs, or with fewer than 10 judged turns of either. Compares the difference of
    means with its 95 % confidence interval.
    """
    one, other = evidence.models[first], evidence.models[second]
    if one.cost.mean is None or other.cost.mean is None:
        return None
    dear, cheap = (first, second) if one.cost.mean >= other.cost.mean else (second, first)
    above, below = evidence.models[dear], evidence.models[cheap]
    found = estimate_difference(above.value_sums, below.value_sums)
    if found is None or min(above.value_sums.n, below.value_sums.n) < _FEW:
        return None
    dear_cost, cheap_cost = above.cost.mean or 0.0, below.cost.mean or 0.0
    if found.low > 0 or found.mean > 0 or cheap_cost > _CHEAPER * dear_cost:
        return ""
    return learning_phrase(
        "waste",
        language,
        subject=_split_evidence_key(dear)[0],
        dear=_split_evidence_key(dear)[1],
        cheap=_split_evidence_key(cheap)[1],
        dear_cost=learning_report_usd(dear_cost),
        cheap_cost=learning_report_usd(cheap_cost),
        difference=format_learning_report_points(found, language),
    )


def _skills(looked: ReviewResult, language: Language) -> Iterator[str]:
    for review in looked.reviews:
        effect = learning_phrase("no_effect", language)
        if review.effect is not None:
            told = format_learning_report_points(review.effect, language)
            turns = review.given + review.held
            effect = learning_phrase("effect", language, points=told, turns=turns)
        yield learning_phrase(
            "skill",
            language,
            name=review.skill,
            status=learning_phrase(review.status, language),
            effect=effect,
            remark=learning_phrase(review.remark.value, language, other=review.other),
        )
    if not looked.reviews:
        yield learning_phrase("skill_none", language)


def _memories(scene: NightlyContext, looked: ReviewResult, language: Language) -> Iterator[str]:
    paired = scene.evidence.memories
    if looked.junk.rate is None:
        yield learning_phrase("memories_none", language)
    for key, junk in (("memories", looked.junk), ("experiences", looked.lived)):
        if junk.rate is not None:
            useless, rate = round(junk.rate * junk.found), f"{100 * junk.rate:.0f} %"
            yield learning_phrase(key, language, found=junk.found, useless=useless, rate=rate)
    found = estimate_difference(paired.given, paired.held)
    if found is not None:
        yield learning_phrase(
            "memories_effect", language, points=format_learning_report_points(found, language)
        )


def _grades(scene: NightlyContext, language: Language) -> Iterator[str]:
    told = False
    for model, bins in sorted(scene.evidence.grades.items()):
        found = self_grade_calibration_curve(bins)
        if not found.points:
            continue
        told = True
        steps = (
            learning_phrase(
                "step", language, said=f"{each.said:.2f}", came_to=f"{each.came_to:.2f}"
            )
            for each in found.points
        )
        yield learning_phrase(
            "grade",
            language,
            model=model,
            weight=f"{100 * found.weight:.0f} %",
            steps=learning_phrase("between", language).join(steps),
        )
    if not told:
        yield learning_phrase("grades_none", language)


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
