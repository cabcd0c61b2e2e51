"""Confidence intervals for means of numbers from 0 to 1, valid however often they are checked.

The intervals are confidence sequences: they hold at all times at once, so whoever looks each night
and stops when it pleases is not misled. They are made of what a test of each possible mean cannot
rule out: the beta-binomial mixture (Robbins 1970; Howard, Ramdas, McAuliffe and Sekhon,
"Time-uniform, nonparametric, nonasymptotic confidence sequences", Annals of Statistics 2021), which
is exact for any numbers from 0 to 1, rare ones too. Numbers that scatter less than zeros and ones
count for more of these, as quasi-likelihoods do (Wedderburn 1974): that part is asymptotic, and
slow to trust (`CAUTION`).
"""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from math import lgamma, log, sqrt

from pydantic import Field

from opencrab.domain.value import Value

ERROR = 0.05
"""The probability that an interval ever misses the true mean."""

AIMED_AT = 200
"""The number of observations at which the intervals are narrowest."""

CAUTION = 10.0
"""The number of zeros and ones mixed in before a smaller scatter is assumed."""

_LIMIT = log(1 / ERROR)
_PRIOR = AIMED_AT / (2 * _LIMIT + log(2 * _LIMIT) + 1)
_NORMAL = 1.959964
"""The two-sided 95 % point of the normal distribution."""

_EDGE, _EXACT, _STEPS, _KEPT = 1e-9, 1e-6, 60, 4_096


class MomentSums(Value):
    """A count of numbers, their sum, and the sum of their squares."""

    n: int = Field(default=0, ge=0)
    total: float = 0.0
    squares: float = 0.0

    def with_value(self, value: float) -> "MomentSums":
        """Return the sums with one more number."""
        return MomentSums(
            n=self.n + 1, total=self.total + value, squares=self.squares + value * value
        )

    def __add__(self, other: "MomentSums") -> "MomentSums":
        """Return the sums of both together."""
        return MomentSums(
            n=self.n + other.n,
            total=self.total + other.total,
            squares=self.squares + other.squares,
        )

    def since(self, then: "MomentSums") -> "MomentSums":
        """Return what was added since `then`; empty if the count did not grow."""
        if self.n <= then.n:
            return MomentSums()
        return MomentSums(
            n=self.n - then.n,
            total=max(self.total - then.total, 0.0),
            squares=max(self.squares - then.squares, 0.0),
        )

    def part(self, share: float) -> "MomentSums":
        """Return a share of the numbers, rounded down to a whole count, with the same mean."""
        n = int(self.n * share)
        left = n / self.n if n else 0.0
        return MomentSums(n=n, total=self.total * left, squares=self.squares * left)

    @property
    def mean(self) -> float | None:
        """The mean; None without numbers."""
        return self.total / self.n if self.n else None

    @property
    def variance(self) -> float:
        """The variance with a 0 and a 1 added: a few equal numbers prove little."""
        n = self.n + 2
        return max((self.squares + 1) / n - ((self.total + 1) / n) ** 2, 0.0)


def sample_moment_sums(values: Iterable[float]) -> MomentSums:
    """Sum up numbers."""
    listed = list(values)
    squares = sum(each * each for each in listed)
    return MomentSums(n=len(listed), total=float(sum(listed)), squares=float(squares))


class Estimate(Value):
    """A mean of `n` numbers, and its 95 % confidence interval."""

    n: int
    mean: float
    low: float
    high: float


def estimate_mean(known: MomentSums) -> Estimate | None:
    """Estimate the mean of numbers in 0..1 with its interval; None without numbers."""
    if not known.n:
        return None
    mean, low, high = _limits(known.n, known.total, known.squares)
    return Estimate(n=known.n, mean=mean, low=low, high=high)


def estimate_difference(given: MomentSums, held: MomentSums) -> Estimate | None:
    """Estimate the first mean minus the second, -1..1; None if one of them has no numbers.

    The limits combine those of both means by root sum of squares (Zou and Donner, "Construction of
    confidence limits about effect measures", Statistics in Medicine 2008), which stays within what
    is possible if a mean is near 0 or 1.
    """
    if not given.n or not held.n:
        return None
    first, second = estimate_mean(given), estimate_mean(held)
    if first is None or second is None:
        return None
    mean = first.mean - second.mean
    below = sqrt((first.mean - first.low) ** 2 + (second.high - second.mean) ** 2)
    above = sqrt((first.high - first.mean) ** 2 + (second.mean - second.low) ** 2)
    low, high = max(mean - below, -1.0), min(mean + above, 1.0)
    return Estimate(n=given.n + held.n, mean=mean, low=low, high=high)


def wilson_confidence_interval(share: float, n: int) -> tuple[float, float]:
    """Return the 95 % limits of a share of n observations, for a number n that was fixed before.

    The score interval of Wilson, "Probable Inference, the Law of Succession, and Statistical
    Inference", Journal of the American Statistical Association 22 (1927). `n` must be positive.
    """
    doubt = _NORMAL**2 / n
    centre = share + doubt / 2
    spread = sqrt(doubt * (share * (1 - share) + doubt / 4))
    return max((centre - spread) / (1 + doubt), 0.0), min((centre + spread) / (1 + doubt), 1.0)


def combine_estimates(parts: Sequence[tuple[float, Estimate]]) -> Estimate:
    """Combine independent estimates to their weighted mean; the weights add up to 1.

    Its limits combine those of the parts by root sum of squares, as for a difference.
    """
    mean = sum(weight * each.mean for weight, each in parts)
    below = sqrt(sum((weight * (each.mean - each.low)) ** 2 for weight, each in parts))
    above = sqrt(sum((weight * (each.high - each.mean)) ** 2 for weight, each in parts))
    return Estimate(
        n=sum(each.n for _, each in parts),
        mean=mean,
        low=max(mean - below, sum(weight * each.low for weight, each in parts)),
        high=min(mean + above, sum(weight * each.high for weight, each in parts)),
    )


@lru_cache(maxsize=_KEPT)
def _limits(n: int, total: float, squares: float) -> tuple[float, float, float]:
    """Compute the mean of n numbers, and the limits of the means that the test does not reject."""
    total = min(max(total, 0.0), float(n))
    scatter = _scatter(n, total, squares)
    mean, doubt = total / n, _doubt(n / scatter, total / scatter, _PRIOR / scatter)
    inside = min(max(mean, _EDGE), 1 - _EDGE)
    return (
        mean,
        min(_interval_bound(doubt, inside, _EDGE), mean),
        max(_interval_bound(doubt, inside, 1 - _EDGE), mean),
    )


def _scatter(n: int, total: float, squares: float) -> float:
    """Compute how much numbers scatter relative to zeros and ones of the same mean, 0 to 1."""
    between = max(total - max(squares, 0.0), 0.0)
    mean = (total + 1) / (n + 2)
    return max(1 - between / ((n + CAUTION) * mean * (1 - mean)), 1 / (n + CAUTION))


def _doubt(n: float, total: float, prior: float) -> Callable[[float], float]:
    """Build the log evidence against a mean: of the mixture over all other means around it."""

    def doubt(mean: float) -> float:
        ones, zeros = prior * mean, prior * (1 - mean)
        mixed = _log_beta(ones + total, zeros + n - total) - _log_beta(ones, zeros)
        return mixed - total * log(mean) - (n - total) * log(1 - mean)

    return doubt


def _log_beta(ones: float, zeros: float) -> float:
    return lgamma(ones) + lgamma(zeros) - lgamma(ones + zeros)


def _interval_bound(doubt: Callable[[float], float], inside: float, end: float) -> float:
    """Find the mean towards `end` beyond which all are rejected; 0 or 1 if the end is not.

    By false position with the Illinois rule (Dowell and Jarratt 1971); the result is itself
    rejected, so that rounding never narrows an interval.
    """
    below, above, outside = doubt(inside) - _LIMIT, doubt(end) - _LIMIT, end
    if above < 0:
        return float(round(end))
    for _ in range(_STEPS):
        if abs(outside - inside) < _EXACT:
            break
        middle = outside - above * (outside - inside) / (above - below)
        if not min(inside, outside) < middle < max(inside, outside):
            middle = (inside + outside) / 2
        found = doubt(middle) - _LIMIT
        if found < 0:
            inside, below, above = middle, found, above / 2
        else:
            outside, above, below = middle, found, below / 2
    return outside
