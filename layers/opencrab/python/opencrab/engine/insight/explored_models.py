"""The models among which an agent tries some, each with its share of all turns and its results."""

from opencrab.domain.agents.agent import Agent
from opencrab.domain.learning.evidence import Evidence, ModelEvidence
from opencrab.domain.statistics.confidence import Estimate, estimate_mean
from opencrab.domain.value import Unit, Value
from opencrab.engine.learning.candidate_models import learning_candidate_models
from opencrab.engine.runtime import Runtime


class MixedModel(Value):
    """A model of a traffic split: its share, and the value, cost and time of its turns.

    `name` is the model behind the alias now, null if its provider is not configured. Cost and time
    are per turn; null is unknown. `off_policy` estimates, by self-normalised inverse propensity
    weighting, the value of all turns of the split if this model alone had answered them; its n is
    the effective sample size.
    """

    model: str
    name: str | None
    weight: Unit
    turns: int
    quality: Estimate | None
    off_policy: Estimate | None
    cost_micro_usd: float | None
    latency_ms: float | None


def explored_models(runtime: Runtime, agent: Agent, evidence: Evidence) -> tuple[MixedModel, ...]:
    """Return the models that an agent may use unasked, over all types of task.

    A model on the owner's own machine may not be there: it is left out until it has answered.
    """
    turns = sum(each.turns for each in evidence.models.values())
    found = learning_candidate_models(runtime.models, agent)
    models = (_mixed_model(evidence, alias, each.name, turns) for alias, each in found.items())
    get = runtime.models.get
    return tuple(each for each in models if each.turns or not get(each.model).info.private)


def _mixed_model(evidence: Evidence, alias: str, name: str, turns: int) -> MixedModel:
    own = (each for key, each in evidence.models.items() if key.endswith(f"/{name}"))
    known = sum(own, ModelEvidence())
    return MixedModel(
        model=alias,
        name=name,
        weight=known.turns / turns if turns else 0.0,
        turns=known.turns,
        quality=estimate_mean(known.value_sums),
        off_policy=None,
        cost_micro_usd=known.cost.mean,
        latency_ms=known.latency.mean,
    )
