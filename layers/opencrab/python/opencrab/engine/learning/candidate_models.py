"""The models that an agent may choose, and those of them that a night may try."""

from collections.abc import Iterable, Mapping

from opencrab.domain.agents.agent import Agent
from opencrab.domain.learning.model_selection import CandidateModel
from opencrab.engine.runtime import Runtime
from opencrab.ports.models.model import Models, distinct_models, selectable_model_choices


def learning_candidate_models(models: Models, agent: Agent) -> Mapping[str, CandidateModel]:
    """Return the models with a price that an agent may choose, by the first alias of each."""
    found = distinct_models(selectable_model_choices(models, agent))
    return {
        alias: CandidateModel(name=info.name, price=info.price, private=info.private)
        for alias, info in found.items()
        if info.price is not None
    }


def ready_candidate_models(runtime: Runtime, agent: Agent) -> Mapping[str, CandidateModel]:
    """Return the models that a night may try on an agent, by the first alias of each.

    Where its owner chose nothing about learning, a model on the owner's own machines must be there
    now: its server is asked, for at most 2 s, unless the model is a usual one.
    """
    found = learning_candidate_models(runtime.models, agent)
    if agent.llm.aim.is_chosen or len(found) == 1:
        return found
    routing = runtime.models.routing
    usual = {
        routing.aliases.get(name, name)
        for name in (routing.default, *routing.uses.values(), *agent.llm.models.values())
    }
    own = {
        each.name
        for alias, each in found.items()
        if each.name not in usual and runtime.models.get(alias).info.private
    }
    missing = own - _ready_models(runtime, own)
    return {alias: each for alias, each in found.items() if each.name not in missing}


def _ready_models(runtime: Runtime, names: Iterable[str]) -> frozenset[str]:
    """Return those of these models that their servers list now."""
    providers = {name.partition(":")[0] for name in names}
    if not providers or runtime.directory is None:
        return frozenset()
    from opencrab.engine.models.available_models import available_models  # noqa: PLC0415 - at night

    return frozenset(
        each.info.name
        for provider in sorted(providers)
        for each in available_models(runtime.directory, provider)
        if not each.problem
    )
