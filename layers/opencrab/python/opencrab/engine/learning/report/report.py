"""The learning report: what a day or week of an agent came to, in its workspace, twice told."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from opencrab.domain.errors import Conflict, TooLarge
from opencrab.domain.learning.calibration import curve
from opencrab.domain.learning.evidence import Evidence
from opencrab.domain.learning.review_period import KEPT, Looked, Span, Stretch
from opencrab.domain.statistics.confidence import difference, estimate
from opencrab.domain.usage.counters import Tally
from opencrab.domain.value import Language
from opencrab.engine.learning.aggregation import days_of
from opencrab.engine.learning.report.changes import change_lines, percent, points, usd
from opencrab.engine.learning.report.files import LANGUAGES, NightReport, with_section
from opencrab.engine.learning.report.phrases import learned_phrase
from opencrab.engine.learning.report.wording import is_worded, section, settle_words, wording_of
from opencrab.engine.learning.snapshot import Scene

log = logging.getLogger(__name__)

_WORTH_TELLING = 0.1
"""A share of failed calls that is a waste."""

_FEW = 10
_CHEAPER = 0.8
_LISTED = 20


@dataclass(frozen=True)
class During:
    """What happened in a period itself: its turns' evidence, and what its calls came to."""

    evidence: Evidence
    tallies: tuple[Tally, ...]

    @property
    def spent_micro_usd(self) -> int:
        """What the calls cost."""
        return sum(tally.counts.get("cost", 0) for tally in self.tallies)


def period_of(scene: Scene, stretch: Stretch) -> During:
    """What happened in a period; a week is reckoned anew from the signals of its turns."""
    runtime, agent_id = scene.runtime, scene.agent.id
    if stretch.span is not Span.WEEKLY:
        evidence = scene.folded.open.get(stretch.last, Evidence())
    else:
        days = days_of(runtime.home, agent_id, stretch.first, stretch.last, {})
        evidence = sum(days.values(), Evidence())
    first, last = stretch.first.isoformat(), stretch.last.isoformat()
    return During(evidence, runtime.home.tallies.between(agent_id, first, last))


def write_report(scene: Scene, looked: Looked, during: During) -> Looked:
    """Write the report in both languages; what hinders that is told, and hinders nothing else.

    Where its owner wants that, a model is to say later what the report comes to. Raises Unavailable
    when that cannot be asked for.
    """
    agent, home = scene.agent, scene.runtime.home
    page = NightReport(home, agent.id, looked.period, scene.at + KEPT)
    wording = wording_of(scene, looked)
    paths = list[str]()
    for language in LANGUAGES:
        text = report(scene, looked, during, language)
        if wording is not None and language is wording.language:
            text = with_section(text, section(wording, text))
        try:
            paths.append(page.put(language, text, known=is_worded(agent, looked)))
        except (Conflict, TooLarge) as error:
            log.warning("a learning report of agent %s is missing: %s", agent.id, error.message)
            return looked.replaced(report=tuple(paths), problem=error.message)
    settle_words(scene, looked, wording)
    return looked.replaced(report=tuple(paths))


def report(scene: Scene, looked: Looked, during: During, language: Language) -> str:
    """The report as Markdown."""
    daily = looked.period.startswith(Span.DAILY.value)
    title = learned_phrase(
        "title_daily" if daily else "title_weekly",
        language,
        name=scene.agent.name,
        period=looked.period.partition("-")[2],
    )
    turns = learned_phrase("turns", language, turns=looked.turns, judged=looked.judged)
    parts = {
        "budget_head": _budget(looked, during, language),
        "quality_head": _quality(scene, language),
        "waste_head": _waste(scene, during, language),
        "changes_head": change_lines(looked, language),
        "skills_head": _skills(looked, language),
        "memories_head": _memories(scene, looked, language),
        "grades_head": _grades(scene, language),
    }
    told = [f"{title}\n\n{turns}\n"]
    for head, lines in parts.items():
        body = "\n".join(lines)
        told.append(f"{learned_phrase(head, language)}\n\n{body}\n")
    return "\n".join(told)


def _budget(looked: Looked, during: During, language: Language) -> Iterator[str]:
    if not during.tallies:
        yield learned_phrase("budget_none", language)
        return
    spent, budget = looked.spent_micro_usd, looked.budget_micro_usd
    share = f"{100 * spent / budget:.1f} %" if budget else "-"
    key = "budget_yes" if spent <= budget else "budget_no"
    yield learned_phrase(key, language, spent=usd(spent), budget=usd(budget), share=share)
    for model, counts in _by_model(during.tallies).items():
        timed = counts.get("timed", 0)
        latency = f"{counts.get('latency', 0) / timed / 1_000:.1f} s" if timed else ""
        yield learned_phrase(
            "model",
            language,
            model=model,
            calls=counts.get("calls", 0),
            failed=counts.get("failed", 0),
            cost=usd(counts.get("cost", 0)),
            latency=latency or learned_phrase("no_latency", language),
        )


def _quality(scene: Scene, language: Language) -> Iterator[str]:
    goal = scene.agent.llm.aim.min_quality
    lines = []
    for key, known in sorted(scene.evidence.models.items()):
        found = estimate(known.worth)
        if found is None:
            continue
        says = "near_goal"
        if found.low >= goal or found.high < goal:
            says = "at_goal" if found.low >= goal else "below_goal"
        subject, model = _split_evidence_key(key)
        line = learned_phrase(
            "quality",
            language,
            subject=subject,
            model=model,
            quality=percent(found, language),
            turns=found.n,
            says=learned_phrase(says, language),
        )
        lines.append(line)
    if not lines:
        yield learned_phrase("no_quality", language)
        return
    yield learned_phrase("goal", language, goal=f"{100 * goal:.0f} %")
    yield from lines


def _waste(scene: Scene, during: During, language: Language) -> Iterator[str]:
    """Dearer models that are not better, and models that often gave no answer."""
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
                learned_phrase("waste_failed", language, model=model, calls=calls, failed=failed)
            )
    if lines:
        yield from lines
    else:
        yield learned_phrase("waste_none" if compared else "waste_unknown", language)


def _dearer(evidence: Evidence, first: str, second: str, language: Language) -> str | None:
    """That the dearer of two models is not better; "" if it may be, None if nobody knows."""
    one, other = evidence.models[first], evidence.models[second]
    if one.cost.mean is None or other.cost.mean is None:
        return None
    dear, cheap = (first, second) if one.cost.mean >= other.cost.mean else (second, first)
    above, below = evidence.models[dear], evidence.models[cheap]
    found = difference(above.worth, below.worth)
    if found is None or min(above.worth.n, below.worth.n) < _FEW:
        return None
    dear_cost, cheap_cost = above.cost.mean or 0.0, below.cost.mean or 0.0
    if found.low > 0 or found.mean > 0 or cheap_cost > _CHEAPER * dear_cost:
        return ""
    return learned_phrase(
        "waste",
        language,
        subject=_split_evidence_key(dear)[0],
        dear=_split_evidence_key(dear)[1],
        cheap=_split_evidence_key(cheap)[1],
        dear_cost=usd(dear_cost),
        cheap_cost=usd(cheap_cost),
        difference=points(found, language),
    )


def _skills(looked: Looked, language: Language) -> Iterator[str]:
    for review in looked.reviews:
        effect = learned_phrase("no_effect", language)
        if review.effect is not None:
            told = points(review.effect, language)
            turns = review.given + review.held
            effect = learned_phrase("effect", language, points=told, turns=turns)
        yield learned_phrase(
            "skill",
            language,
            name=review.skill,
            status=learned_phrase(review.status, language),
            effect=effect,
            remark=learned_phrase(review.remark.value, language, other=review.other),
        )
    if not looked.reviews:
        yield learned_phrase("skill_none", language)


def _memories(scene: Scene, looked: Looked, language: Language) -> Iterator[str]:
    paired = scene.evidence.memories
    if looked.junk.rate is None:
        yield learned_phrase("memories_none", language)
    for key, junk in (("memories", looked.junk), ("experiences", looked.lived)):
        if junk.rate is not None:
            useless, rate = round(junk.rate * junk.found), f"{100 * junk.rate:.0f} %"
            yield learned_phrase(key, language, found=junk.found, useless=useless, rate=rate)
    found = difference(paired.given, paired.held)
    if found is not None:
        yield learned_phrase("memories_effect", language, points=points(found, language))


def _grades(scene: Scene, language: Language) -> Iterator[str]:
    told = False
    for model, bins in sorted(scene.evidence.grades.items()):
        found = curve(bins)
        if not found.points:
            continue
        told = True
        steps = (
            learned_phrase("step", language, said=f"{each.said:.2f}", came_to=f"{each.came_to:.2f}")
            for each in found.points
        )
        yield learned_phrase(
            "grade",
            language,
            model=model,
            weight=f"{100 * found.weight:.0f} %",
            steps=learned_phrase("between", language).join(steps),
        )
    if not told:
        yield learned_phrase("grades_none", language)


def _by_model(tallies: tuple[Tally, ...]) -> dict[str, dict[str, int]]:
    """Counts of each model, dearest first."""
    found: dict[str, dict[str, int]] = {}
    for tally in tallies:
        counts = found.setdefault(tally.cell.name, {})
        for name, count in tally.counts.items():
            counts[name] = counts.get(name, 0) + count
    dearest = sorted(found.items(), key=lambda item: (-item[1].get("cost", 0), item[0]))
    return dict(dearest[:_LISTED])


def _split_evidence_key(key: str) -> tuple[str, str]:
    """The purpose and type of task, and the model, of what evidence is filed under."""
    purpose, task_type, model = key.split("/", 2)
    return f"{purpose}/{task_type}", model
