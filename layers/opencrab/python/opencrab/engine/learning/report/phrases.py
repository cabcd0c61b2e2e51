"""Texts of the learning report, in Japanese and English, with its forms of numbers."""

from dataclasses import dataclass

from opencrab.domain.statistics.confidence import Estimate
from opencrab.domain.value import Language
from opencrab.ports.texts import Texts

_SENTENCES = Texts(__file__)
_MILLION = 1_000_000
_PLACES = ((1.0, 2), (0.001, 4), (0.0, 6))
"""Decimal places of amounts by their least size in dollars."""


@dataclass(frozen=True)
class ReportPhrases:
    """The report's texts in one language."""

    language: Language

    def __call__(self, key: str, **parts: object) -> str:
        """Return a text with its placeholders filled in."""
        return _SENTENCES[key][self.language].format(**parts)

    def reason(self, code: str) -> str:
        """Return the text for a reason, or the reason's code if there is none."""
        key = f"reason_{code}"
        return self(key) if key in _SENTENCES else code.replace("_", " ")

    def percent(self, found: Estimate) -> str:
        """Format a mean in percent with its interval."""
        mean, low, high = (f"{100 * each:.0f}" for each in (found.mean, found.low, found.high))
        return self("percent", mean=mean, low=low, high=high)

    def points(self, found: Estimate) -> str:
        """Format a difference in points of 100 with its interval, as in +12 points (3 to 21)."""
        return self.points_between(100 * found.mean, 100 * found.low, 100 * found.high)

    def points_between(self, mean: float, low: float, high: float) -> str:
        """Format points of 100 with their interval."""
        return self("points", mean=f"{mean:+.0f}", low=f"{low:.0f}", high=f"{high:.0f}")


def learning_report_usd(micro_usd: float) -> str:
    """Format an amount in dollars: two decimal places, or up to six for small amounts."""
    dollars = micro_usd / _MILLION
    places = next(places for least, places in _PLACES if not dollars or abs(dollars) >= least)
    return f"{dollars:.{places}f} USD"
