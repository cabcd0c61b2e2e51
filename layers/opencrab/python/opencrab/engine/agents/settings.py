"""Changing: an agent's settings, the models that it thinks with, and the switches, by an owner."""

import logging
from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from opencrab.domain.agents.agent import Agent, Identity, Profile
from opencrab.domain.agents.soul import Soul
from opencrab.domain.errors import Conflict, Invalid
from opencrab.domain.models.routing import LlmConfig, ModelReference, Use
from opencrab.domain.money.budget import INSTALLATION
from opencrab.domain.world.binding import require_same_world_genome
from opencrab.engine.agents.vital_signs import create_vital_signs
from opencrab.engine.approvals.approvals import require_valid_approval_policy
from opencrab.engine.models.preferences import (
    current_preferences,
    require_model_config,
    require_usable_model,
)
from opencrab.engine.runtime import Runtime
from opencrab.ports.home import Home

log = logging.getLogger(__name__)

_REFERENCE: TypeAdapter[str] = TypeAdapter(ModelReference)
_TRIES = 5


def change_agent(
    runtime: Runtime,
    profile: Profile,
    changes: Mapping[str, Any],
    *,
    soul: Soul | None = None,
    identity: Identity | None = None,
) -> Profile:
    """Save changes of an agent as the version after the given one.

    Raises Conflict for one that has retired or was changed meanwhile, and for the drives of one
    that is bound to a world; Invalid for a model or a policy that cannot be.
    """
    before = profile.agent
    if not before.answers:
        raise Conflict(
            f"agent {before.id!r} has retired and cannot be changed", cure="create a new agent"
        )
    require_same_world_genome(before, profile.soul, soul)
    if changes.get("model", before.model) != before.model:
        require_usable_model(runtime.models, changes["model"])
    if changes.get("policy", before.policy) != before.policy:
        require_valid_approval_policy(runtime.actions, changes["policy"])
    agent: Agent = before.replaced(**changes, updated_at=runtime.clock.now())
    saved = runtime.home.agents.save(agent, soul=soul, identity=identity)
    after = Profile(agent=saved, soul=soul or profile.soul, identity=identity or profile.identity)
    if soul is not None or {"status", "heartbeat"} & changes.keys():
        create_vital_signs(runtime, after)
    return after


def choose_agent_model(
    runtime: Runtime, agent_id: str, use: Use | None, model: str | None
) -> Profile:
    """Let an agent think with a model from its next turn on; None leaves it to the installation.

    Without a use it is the model for every use that has none of its own; None for that takes back
    those as well. Raises NotFound, Invalid for a model that cannot be, and Conflict for a retired
    agent, or one that is changed all the time.
    """
    if model is not None:
        _require_reference(model)
    current_preferences(runtime)
    for _ in range(_TRIES - 1):
        try:
            return _set_model(runtime, agent_id, use, model)
        except Conflict:
            if not runtime.home.agents.get(agent_id).agent.answers:
                raise
    return _set_model(runtime, agent_id, use, model)


def freeze_or_unfreeze(
    home: Home, agent_id: str | None, *, frozen: bool, by: str
) -> tuple[str, ...]:
    """Freeze an agent or everything, queued work included, before its next model call; or undo it.

    Turns that meet a frozen switch end as stopped. Answers all that is frozen; raises NotFound.
    """
    if agent_id is not None:
        home.agents.get(agent_id)
    scope = agent_id or INSTALLATION
    home.switches.set(scope, frozen=frozen)
    log.info(
        "freeze switch changed: scope=%s, state=%s, by=%s",
        scope,
        "frozen" if frozen else "running",
        by,
    )
    return home.switches.all_frozen()


def _require_reference(model: str) -> None:
    try:
        _REFERENCE.validate_python(model)
    except ValidationError:
        raise Invalid(
            f"{model[:100]!r} is not a valid model name",
            field="model",
            cure="write provider:model, or one of the aliases",
        ) from None


def _set_model(runtime: Runtime, agent_id: str, use: Use | None, model: str | None) -> Profile:
    profile = runtime.home.agents.get(agent_id)
    agent = profile.agent
    own, models = agent.model, dict(agent.llm.models)
    if use is not None:
        models.pop(use, None)
        models |= {} if model is None else {use: model}
    elif model is None:
        own, models = None, {}
    else:
        own = runtime.models.get(model).info.name
    config: LlmConfig = agent.llm.replaced(models=models)
    require_model_config(runtime.models, config, own)
    return change_agent(runtime, profile, {"model": own, "llm": config})
