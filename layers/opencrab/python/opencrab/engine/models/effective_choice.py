"""The model that an agent would call first for each use, and who chose it."""

from collections.abc import Iterable

from pydantic import Field

from opencrab.domain.agents.agent import Agent
from opencrab.domain.errors import Invalid
from opencrab.domain.models.routing import ChosenModel, RoutingBasis, Sampling, Use
from opencrab.domain.models.traffic_split import Mix
from opencrab.engine.models.router import (
    fallback_models,
    model_traffic_split_shares,
    sampling_of_call,
)
from opencrab.ports.models.model import ModelInfo, Models


class Effective(ChosenModel):
    """A model and who chose it; `problem` says why it cannot be used now, if it cannot.

    `learned` are the task types for which other models were learned to be good, each with the
    probability of its aliases; they take precedence over an owner's choice for all uses. `sampling`
    is what its calls are made with; null is the model's own default, or what it does not accept.
    """

    problem: str = ""
    sampling: Sampling = Sampling()
    learned: dict[str, dict[str, float]] = Field(default_factory=dict)


def effective_models(
    models: Models, agent: Agent, mixes: Iterable[Mix] = ()
) -> dict[Use, Effective]:
    """Return for each use the model that a new turn would call first, and who chose it."""
    listed = tuple(mixes)
    return {use: _with_learned(models, agent, use, listed) for use in Use}


def _with_learned(models: Models, agent: Agent, use: Use, mixes: tuple[Mix, ...]) -> Effective:
    first = _effective(models, agent, use)
    if use in agent.llm.models:
        return first
    known = {
        mix.task_type: model_traffic_split_shares(models, agent, mix)
        for mix in mixes
        if mix.purpose is use
    }
    return first.replaced(learned={task_type: left for task_type, left in known.items() if left})


def _effective(models: Models, agent: Agent, use: Use) -> Effective:
    own = None if use is Use.EMBEDDING else agent.model
    basis = RoutingBasis(model=own, models=agent.llm.models)
    chosen = models.routing.chosen(use, basis)
    try:
        model = models.get(chosen.model)
        info = fallback_models(models, model, agent)[0].info
    except Invalid as error:
        return Effective(model=chosen.model, by=chosen.by, problem=error.message)
    first, name = info.name, model.info.name
    sampling = _sampling(models, agent, use, info)
    if first == name:
        return Effective(model=name, by=chosen.by, sampling=sampling)
    if use is Use.EMBEDDING:
        problem = f"agent {agent.id!r} is private, and {name!r} is not"
        return Effective(model=name, by=chosen.by, problem=problem)
    return Effective(model=first, by="fallback", sampling=sampling)


def _sampling(models: Models, agent: Agent, use: Use, info: ModelInfo) -> Sampling:
    if use is Use.EMBEDDING:
        return Sampling()
    wanted = models.routing.call_options(use).with_sampling(agent.llm.sampling.get(use))
    length = wanted.max_output_tokens
    most = None if length is None else min(length, info.max_output_tokens)
    # An effort that only this vendor knows, such as xhigh, is shown as the one that was wished.
    told = sampling_of_call(info, wanted)
    effort = None if told["reasoning_effort"] is None else wanted.reasoning_effort
    return Sampling(**{**told, "max_output_tokens": most, "reasoning_effort": effort})
