"""The list of changes in the learning report."""

from collections.abc import Iterator, Mapping
from typing import Any

from opencrab.domain.learning.change import Adjustment, AdjustmentKind
from opencrab.domain.learning.review_period import ReviewResult
from opencrab.domain.statistics.confidence import Estimate
from opencrab.engine.learning.report.phrases import ReportPhrases, learning_report_usd

_LISTED = 30


def report_change_lines(looked: ReviewResult, say: ReportPhrases) -> Iterator[str]:
    """Yield a line for each change or proposal, then for each subject without one, and why."""
    for each in looked.adjustments[:_LISTED]:
        yield _change(each, say)
    more = len(looked.adjustments) - _LISTED
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
    """Describe the state of a subject before or after a change."""
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
