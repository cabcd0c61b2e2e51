"""Off-policy: what all turns that were left to chance would have been worth with one model.

Each turn that a model drew with probability p stands for 1 / p of them, which takes out that it was
asked more often at some times than at others (the self-normalised inverse propensity estimate:
Swaminathan and Joachims, "The self-normalized estimator for counterfactual learning", 2015).
"""

from collections.abc import Iterable

from opencrab.domain.statistics.confidence import Estimate, MomentSums, estimate_mean, moment_sums
from opencrab.domain.value import Value

MOST_WEIGHT = 100.0
"""A choice that was less likely than 1 in so many counts as if it had been as likely as that."""


class WeightedTurns(Value):
    """Turns that a model drew, each with its weight: 1 over how likely it was drawn.

    `weights` are those of judged turns, `worths` what these were worth times their weights, and
    `product` the sum of each weight times its worth. `answered` is the weight of all turns that
    had an answer, judged or not, `failed` are the weights of those that had none.
    """

    weights: MomentSums = MomentSums()
    worths: MomentSums = MomentSums()
    product: float = 0.0
    answered: float = 0.0
    failed: MomentSums = MomentSums()

    def __add__(self, other: "WeightedTurns") -> "WeightedTurns":
        """Both together."""
        return WeightedTurns(
            weights=self.weights + other.weights,
            worths=self.worths + other.worths,
            product=self.product + other.product,
            answered=self.answered + other.answered,
            failed=self.failed + other.failed,
        )


def weigh_turns_by_propensity(
    answered: Iterable[tuple[float, float | None]], failed: Iterable[float]
) -> WeightedTurns:
    """Turns, each by how likely the model was drawn for it.

    Those that had an answer have a worth as well; None is one that nobody knows.
    """
    turns = [(_weight(probability), worth) for probability, worth in answered]
    judged = [(weight, worth) for weight, worth in turns if worth is not None]
    return WeightedTurns(
        weights=moment_sums(weight for weight, _ in judged),
        worths=moment_sums(weight * worth for weight, worth in judged),
        product=sum(weight * weight * worth for weight, worth in judged),
        answered=sum(weight for weight, _ in turns),
        failed=moment_sums(map(_weight, failed)),
    )


def off_policy_estimate(known: WeightedTurns) -> Estimate | None:
    """What all turns would have been worth with this model; None where it drew none that tells.

    Only turns count in which it could be drawn. One without an answer is worth nothing, and of
    these as many count as of the answers were judged. The interval is that of as many equally
    likely turns as scatter alike: by the weights alone (Kish 1965), or by the weighted worths
    themselves where that is less (Owen, "Monte Carlo theory, methods and examples", 9.2, 2013).
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
