"""Amounts: measured numbers for a person, with units, intervals, and what is unknown."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from opencrab.domain.amounts import format_micro_usd
from opencrab.gateways.cli.language.sentences import SentenceCatalog

if TYPE_CHECKING:
    from decimal import Decimal

UNKNOWN = "-"
"""What nobody knows; never a zero."""

_PERCENT, _THOUSAND = 100, 1_000


def format_percent_for_terminal(share: float | None) -> str:
    """A share in percent."""
    return UNKNOWN if share is None else f"{_PERCENT * share:.0f}%"


def format_estimate_for_terminal(words: SentenceCatalog, estimate: Mapping[str, Any] | None) -> str:
    """A mean in percent, with the interval in which the truth lies with 95 %."""
    if estimate is None:
        return UNKNOWN
    mean, low, high = (f"{_PERCENT * estimate[key]:.0f}" for key in ("mean", "low", "high"))
    return words("percent_between", mean=mean, low=low, high=high)


def terminal_effect_text(words: SentenceCatalog, measure: Mapping[str, Any] | None) -> str:
    """By how many points of 100 something changes what turns are worth, with the interval."""
    if measure is None or measure["points"] is None:
        return words("too_little_data")
    points, low, high = (f"{measure[key]:+.0f}" for key in ("points", "low", "high"))
    return words("skill_effect", points=points, low=low, high=high)


def format_seconds_for_terminal(milliseconds: float | None) -> str:
    """A time in seconds, as exact as it needs to be."""
    if milliseconds is None:
        return UNKNOWN
    places = 1 if milliseconds >= _THOUSAND else 3
    return f"{milliseconds / _THOUSAND:.{places}f} s"


def format_dollars_for_terminal(micro_usd: float | None) -> str:
    """Return an amount of money, rounded to the micro-dollar, or the sign for unknown."""
    return UNKNOWN if micro_usd is None else format_micro_usd(round(micro_usd))


def format_count_for_terminal(number: float | None) -> str:
    """A count, or what is unknown."""
    return UNKNOWN if number is None else f"{number:,}"


def parse_terminal_amount(text: str, step: "Decimal", most: "Decimal") -> int | None:
    """How many steps an amount is; None for what is no amount, too much, or too fine."""
    from decimal import Decimal

    try:
        amount = Decimal(text)
        fits = 0 <= amount <= most and amount == amount.quantize(step)
    except ArithmeticError:
        return None
    return int(amount / step) if fits else None
