"""An owner's changes of an agent: its settings, its models, and the freeze switch."""

import logging
from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from opencrab.domain.agents.agent import Agent, Identity, Profile
from opencrab.domain.agents.soul import Soul
from opencrab.domain.errors import Conflict, Invalid
from opencrab.domain.models.routing import LlmConfig, ModelReference, Use
from opencrab.domain.money.budget import INSTALLATION
from opencrab.domain.name import require_visible_name
from opencrab.domain.world.binding import require_soul_fits_world_binding
from opencrab.engine.agents.vital_signs import create_agent_vital_signs, make_dormant_agent_active
from opencrab.engine.approvals.approvals import require_valid_approval_policy
from opencrab.engine.models.preferences import (
    current_model_preferences,
    require_usable_model,
    require_usable_models_of_agent,
)
from opencrab.engine.runtime import Runtime
from opencrab.ports.home import Home

log = logging.getLogger(__name__)

_REFERENCE: TypeAdapter[str] = TypeAdapter(ModelReference)
_TRIES = 5
_IDENTITY_NAMES = ("name", "custom_role", "job_title", "organization")


def change_agent(
    runtime: Runtime,
    profile: Profile,
    changes: Mapping[str, Any],
    *,
    soul: Soul | None = None,
    identity: Identity | None = None,
) -> Profile:
    """Save changes of an agent as the version after the given one.

    Raises Conflict if the agent has retired, was changed concurrently, or is bound to a world and
    its drives would change; Invalid for a model or policy that cannot be used, and for a new name
    with invisible characters.
    """
    before = profile.agent
    if not before.answers:
        raise Conflict(
            f"agent {before.id!r} has retired and cannot be changed", cure="create a new agent"
        )
    _require_visible_names(profile, changes, soul, identity)
    require_soul_fits_world_binding(before, profile.soul, soul)
    if changes.get("model", before.model) != before.model:
        require_usable_model(runtime.models, changes["model"])
    if changes.get("policy", before.policy) != before.policy:
        require_valid_approval_policy(runtime.actions, changes["policy"])
    agent: Agent = before.replaced(**changes, updated_at=runtime.clock.now())
    saved = runtime.home.agents.save(agent, soul=soul, identity=identity)
    after = Profile(agent=saved, soul=soul or profile.soul, identity=identity or profile.identity)
    asked = _asks_for_more(before, saved)
    if asked and "status" not in changes:
        after = make_dormant_agent_active(runtime, after)
    if asked or soul is not None or {"status", "heartbeat"} & changes.keys():
        create_agent_vital_signs(runtime, after, reviews=asked)
    return after


def _asks_for_more(before: Agent, after: Agent) -> bool:
    """Check whether an owner has changed what an agent shall do unasked."""
    old, new = before.heartbeat, after.heartbeat
    if not new.acts_on_its_own:
        return False
    changed = (old.instructions, old.initiative) != (new.instructions, new.initiative)
    return changed or before.purpose != after.purpose


def _require_visible_names(
    profile: Profile, changes: Mapping[str, Any], soul: Soul | None, identity: Identity | None
) -> None:
    """Raise Invalid for a new name with invisible characters; one that is stored may stay."""
    names = [("name", changes.get("name"), profile.agent.name)]
    if soul is not None:
        names.append(("persona_name", soul.persona_name, profile.soul.persona_name))
    if identity is not None:
        before = profile.identity
        names += [
            (field, getattr(identity, field), getattr(before, field)) for field in _IDENTITY_NAMES
        ]
    for field, name, stored in names:
        if name is not None and name != stored:
            require_visible_name(name, field)


def set_model_of_agent(
    runtime: Runtime, agent_id: str, use: Use | None, model: str | None
) -> Profile:
    """Set the model of an agent from its next turn on; None returns to the installation's default.

    Without `use`, sets the model for every use that has no model of its own; None without `use`
    clears the models of all uses. Raises NotFound, Invalid for a model that cannot be used, and
    Conflict for a retired agent or when concurrent changes exhaust the retries.
    """
    if model is not None:
        _require_reference(model)
    current_model_preferences(runtime)
    for _ in range(_TRIES - 1):
        try:
            return _set_model(runtime, agent_id, use, model)
        except Conflict:
            if not runtime.home.agents.get(agent_id).agent.answers:
                raise
    return _set_model(runtime, agent_id, use, model)


def freeze_or_unfreeze_agent(
    home: Home, agent_id: str | None, *, frozen: bool, by: str
) -> tuple[str, ...]:
    """Freeze or unfreeze an agent, or the installation without `agent_id`; return all frozen ids.

    Freezing takes effect before the next model call and includes queued turns, which end as
    stopped. Raises NotFound.
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
    require_usable_models_of_agent(runtime.models, config, own)
    return change_agent(runtime, profile, {"model": own, "llm": config})
