"""Off-policy estimates: the reward if one model had served all randomly assigned turns.

Each turn that a model drew with probability p stands for 1 / p of them, which takes out that it was
asked more often at some times than at others (the self-normalised inverse propensity estimate:
Swaminathan and Joachims, "The self-normalized estimator for counterfactual learning", 2015).
"""

from collections.abc import Iterable

from opencrab.domain.statistics.confidence import (
    Estimate,
    MomentSums,
    estimate_mean,
    sample_moment_sums,
)
from opencrab.domain.value import Value

MOST_WEIGHT = 100.0
"""The maximum weight of a turn: a choice less likely than 1 in 100 counts as 1 in 100."""


class WeightedTurns(Value):
    """Turns for which a model was drawn, each weighted by 1 / its probability.

    `weights` are those of judged turns, `worths` their rewards times their weights, and `product`
    the sum of weight squared times reward. `answered` is the weight of all turns that had an
    answer, judged or not, `failed` are the weights of those that had none.
    """

    weights: MomentSums = MomentSums()
    worths: MomentSums = MomentSums()
    product: float = 0.0
    answered: float = 0.0
    failed: MomentSums = MomentSums()

    def __add__(self, other: "WeightedTurns") -> "WeightedTurns":
        """Return the sum of both."""
        return WeightedTurns(
            weights=self.weights + other.weights,
            worths=self.worths + other.worths,
            product=self.product + other.product,
            answered=self.answered + other.answered,
            failed=self.failed + other.failed,
        )


def propensity_weighted_sums(
    answered: Iterable[tuple[float, float | None]], failed: Iterable[float]
) -> WeightedTurns:
    """Sum up turns, weighted by the probability with which the model was drawn.

    Answered turns have a reward as well; None if it is unknown.
    """
    turns = [(_weight(probability), worth) for probability, worth in answered]
    judged = [(weight, worth) for weight, worth in turns if worth is not None]
    return WeightedTurns(
        weights=sample_moment_sums(weight for weight, _ in judged),
        worths=sample_moment_sums(weight * worth for weight, worth in judged),
        product=sum(weight * weight * worth for weight, worth in judged),
        answered=sum(weight for weight, _ in turns),
        failed=sample_moment_sums(map(_weight, failed)),
    )


def off_policy_estimate(known: WeightedTurns) -> Estimate | None:
    """Estimate the mean reward if this model had served all turns; None without weighted turns.

    Only turns count in which it could be drawn. One without an answer counts 0, and only the share
    of them counts that equals the share of answers that were judged. The interval is that of as
    many equally likely turns with the same scatter: by the weights alone (Kish 1965), or by the
    weighted rewards themselves if that is less (Owen, "Monte Carlo theory, methods and examples",
    9.2, 2013).
    """
    judged = known.weights.total
    share = min(judged / known.answered, 1.0) if known.answered > 0 else 1.0
    whole = judged + share * known.failed.total
    if whole <= 0:
        return None
    mean = min(known.worths.total / whole, 1.0)
    squares = known.weights.squares + share * known.failed.squares
    scatter = known.worths.squares - 2 * mean * known.product + mean * mean * squares
    most = mean * (1 - mean)
    n = max(int(whole * whole * min(1 / squares, most / scatter if scatter > 0 else 1)), 1)
    return estimate_mean(MomentSums(n=n, total=n * mean, squares=n * mean))


def _weight(probability: float) -> float:
    return 1 / max(probability, 1 / MOST_WEIGHT)
