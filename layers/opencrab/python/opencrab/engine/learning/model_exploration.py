"""The owner's word on models that are tried unasked: stopping that, and letting it go on.

The word is stored with the agent's settings (`aim.leave` off), so that its next turn keeps to it.
"""

from collections.abc import Mapping
from typing import Any

from opencrab.domain.agents.agent import Agent
from opencrab.domain.errors import Conflict
from opencrab.domain.learning.change import (
    STOPPED,
    Adjustment,
    AdjustmentKind,
    AdjustmentState,
    LearnedSubject,
    adjustment_id,
    end_adjustment,
)
from opencrab.domain.models.optimization import Aim, LearningMode
from opencrab.engine.learning.changes import (
    LearningChange,
    find_adjustment,
    log_learning_change,
    open_adjustments_of,
    page_of_adjustments,
    require_agent_able_to_learn,
    store_adjustment,
    undo_adjustment,
)
from opencrab.engine.models.router import models_to_try
from opencrab.engine.runtime import Runtime

EVERY_MODEL = LearnedSubject(kind=AdjustmentKind.MODELS, name="all")
"""The choice of models for every type of task."""

_LEAVE, _CHOSEN = "leave", ("explore", "chosen")


def are_models_tried(runtime: Runtime, agent: Agent) -> bool:
    """Check whether an agent may try models unasked now."""
    if agent.model is not None:
        return False
    return bool(models_to_try(runtime.models, agent, runtime.rules.trials))


def are_model_tries_stopped(agent: Agent) -> bool:
    """Check whether the owner has stopped an agent's learning about models."""
    return agent.llm.aim.leave is LearningMode.OFF


def stop_model_tries(runtime: Runtime, agent_id: str, by: str) -> Adjustment:
    """Stop trying models and using what was learned of them; raises NotFound and Conflict."""
    require_agent_able_to_learn(runtime.home.agents, agent_id)
    agent, facts, now = (
        runtime.home.agents.get(agent_id).agent,
        runtime.home.facts,
        runtime.clock.now(),
    )
    own = agent.llm.aim
    if own.leave is LearningMode.OFF:
        raise Conflict(
            f"agent {agent_id!r} tries no models",
            field="subject",
            cure="nothing to stop; list the experiments to see which run",
        )
    made = Adjustment(
        id=adjustment_id(now, EVERY_MODEL.text, by),
        at=now,
        kind=EVERY_MODEL.kind,
        subject=EVERY_MODEL.name,
        before=own.model_dump(mode="json", include={_LEAVE, *_CHOSEN}),
        after={_LEAVE: LearningMode.OFF.value},
        reason=STOPPED,
        by=by,
    )
    earlier = open_adjustments_of(page_of_adjustments(facts, agent_id), EVERY_MODEL)
    # The agent first: if this stops here, a repeat finds that it is off already.
    _save_aim(runtime, agent, own.replaced(leave=LearningMode.OFF, chosen=True))
    change = LearningChange(made, ends=earlier)
    return log_learning_change(agent_id, store_adjustment(facts, agent_id, change))


def resume_model_tries(
    runtime: Runtime, agent_id: str, before: Mapping[str, Any] | None = None
) -> bool:
    """Let an agent learn about models as before a stop; False if it was not stopped.

    `before` is what the stop ended, by default what the newest stop did. Without any, or if
    nobody had chosen how models are learned, it is left to the settings.
    """
    require_agent_able_to_learn(runtime.home.agents, agent_id)
    agent = runtime.home.agents.get(agent_id).agent
    if not are_model_tries_stopped(agent):
        return False
    if before is None:
        stops = open_adjustments_of(page_of_adjustments(runtime.home.facts, agent_id), EVERY_MODEL)
        before = next((each.before for each in stops), {})
    own = Aim(**before) if before.keys() >= {_LEAVE, *_CHOSEN} else Aim()
    aim = agent.llm.aim.replaced(leave=own.leave, explore=own.explore, chosen=own.chosen)
    _save_aim(runtime, agent, aim)
    return True


def undo_learned_change(runtime: Runtime, agent_id: str, change_id: str, by: str) -> Adjustment:
    """Undo a change as `undo_adjustment` does, also one that stopped the trying of models."""
    found = find_adjustment(runtime.home.facts, agent_id, change_id)
    is_stop = (found.kind, found.subject) == (EVERY_MODEL.kind, EVERY_MODEL.name)
    if not is_stop or found.state is not AdjustmentState.APPLIED:
        return undo_adjustment(runtime, agent_id, change_id, by)
    resume_model_tries(runtime, agent_id, found.before)
    undone = end_adjustment(found, AdjustmentState.UNDONE, runtime.clock.now(), by)
    change = LearningChange(undone, was=AdjustmentState.APPLIED)
    return log_learning_change(agent_id, store_adjustment(runtime.home.facts, agent_id, change))


def _save_aim(runtime: Runtime, agent: Agent, aim: Aim) -> None:
    changed = agent.replaced(llm=agent.llm.replaced(aim=aim), updated_at=runtime.clock.now())
    runtime.home.agents.save(changed)
