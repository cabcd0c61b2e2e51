"""The list of changes in the learning report, and its number formats."""

from collections.abc import Iterator, Mapping
from typing import Any

from opencrab.domain.learning.change import Adjustment, AdjustmentKind
from opencrab.domain.learning.review_period import ReviewResult
from opencrab.domain.statistics.confidence import Estimate
from opencrab.domain.value import Language
from opencrab.engine.learning.report.phrases import learning_phrase, learning_reason_phrase

_MILLION = 1_000_000
_LISTED = 30
_PLACES = ((1.0, 2), (0.001, 4), (0.0, 6))
"""Decimal places of amounts by their least size in dollars."""


def learning_report_usd(micro_usd: float) -> str:
    """Format an amount in dollars: two decimal places, or up to six for small amounts."""
    dollars = micro_usd / _MILLION
    places = next(places for least, places in _PLACES if not dollars or abs(dollars) >= least)
    return f"{dollars:.{places}f} USD"


def format_learning_report_points(found: Estimate, language: Language) -> str:
    """Format a difference in points of 100 with its interval, as in +12 points (3 to 21)."""
    return _points(100 * found.mean, 100 * found.low, 100 * found.high, language)


def format_learning_report_percent(found: Estimate, language: Language) -> str:
    """Format a mean in percent with its interval."""
    mean, low, high = (f"{100 * each:.0f}" for each in (found.mean, found.low, found.high))
    return learning_phrase("percent", language, mean=mean, low=low, high=high)


def report_change_lines(looked: ReviewResult, language: Language) -> Iterator[str]:
    """Yield a line for each change or proposal, then for each subject without one, and why."""
    for each in looked.adjustments[:_LISTED]:
        yield _change(each, language)
    more = len(looked.adjustments) - _LISTED
    if more > 0:
        yield learning_phrase("too_few", language, count=more)
    if not looked.adjustments:
        yield learning_phrase("change_none", language)
    for still in looked.standstills:
        reason = learning_reason_phrase(still.reason, language)
        yield learning_phrase("still", language, subject=still.subject, reason=reason)


def _change(made: Adjustment, language: Language) -> str:
    is_every = made.kind is AdjustmentKind.MODELS and made.subject == "all"
    kind = f"{made.kind.value}_all" if is_every else made.kind.value
    subject = learning_phrase(f"{kind}_subject", language, name=made.subject)
    return learning_phrase(
        "change",
        language,
        subject=subject,
        before=_standing(made, made.before, language),
        after=_standing(made, made.after, language),
        state=learning_phrase(made.state.value, language),
        reason=learning_reason_phrase(made.reason, language),
        evidence=_evidence(made, language),
        id=made.id,
    )


def _standing(made: Adjustment, told: Mapping[str, Any], language: Language) -> str:
    """Describe the state of a subject before or after a change."""
    if "weights" in told:
        listed = sorted(told["weights"].items(), key=lambda item: (-item[1], item[0]))
        shares = (f"{alias} {100 * weight:.0f} %" for alias, weight in listed)
        return learning_phrase("between", language).join(shares)
    found = _word_of_state(made, told)
    if found is None:
        return learning_phrase("nothing", language)
    phrase, filled = found
    return learning_phrase(phrase, language, **filled)


def _word_of_state(made: Adjustment, told: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """Return the phrase for a state and what fills it; None if there was none."""
    word = told.get("remark", told.get("status"))
    if made.kind is AdjustmentKind.EXPERIENCE:
        return f"{made.kind.value}_{word}", {}
    if "leave" in told:
        return f"{made.kind.value}_{told['leave']}", {}
    if "withheld_percent" in told:
        return "withheld", {"percent": told["withheld_percent"]}
    if told.get("only"):
        return "active_only", {"tasks": ", ".join(told["only"])}
    return None if word is None else (str(word), {"other": told.get("other", "")})


def _evidence(made: Adjustment, language: Language) -> str:
    told = made.evidence
    if made.kind is AdjustmentKind.SKILL and "points" in told:
        effect = _points(told["points"], told["low"], told["high"], language)
        return learning_phrase(
            "evidence_skill", language, points=effect, given=told["given"], held=told["held"]
        )
    if made.kind is AdjustmentKind.EXPERIENCE:
        return _recall_evidence_text(told, language)
    if made.kind is AdjustmentKind.MODELS and "quality" in told:
        return learning_phrase(
            "evidence_models",
            language,
            quality=format_learning_report_percent(
                Estimate.model_validate(told["quality"]), language
            ),
            cost=learning_report_usd(told["cost_micro_usd"]),
            turns=told["turns_a_day"],
        )
    return ""


def _recall_evidence_text(told: Mapping[str, Any], language: Language) -> str:
    if "alike" in told:
        return learning_phrase("evidence_twin", language, percent=f"{100 * told['alike']:.0f}")
    found, useful = told["found"], told["useful"]
    return learning_phrase("evidence_experience", language, found=found, useful=useful)


def _points(mean: float, low: float, high: float, language: Language) -> str:
    return learning_phrase(
        "points", language, mean=f"{mean:+.0f}", low=f"{low:.0f}", high=f"{high:.0f}"
    )
