"""Ending the memory hold-out of one agent: the share of turns whose searches hide memories.

It resumes when the change is undone or the pin removed.
"""

from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.errors import Conflict
from opencrab.domain.learning.change import (
    MEMORIES,
    STOPPED,
    Adjustment,
    adjustment_id,
    is_learning_pinned,
    learning_holdout_percent,
    with_learned_pin,
)
from opencrab.domain.skills.skill import AcquiredSkill
from opencrab.engine.learning.changes import (
    LearningChange,
    learned_mind,
    log_learning_change,
    open_adjustments_of,
    page_of_adjustments,
    require_agent_able_to_learn,
    store_adjustment,
)
from opencrab.engine.runtime import Runtime

WITHHELD = "withheld_percent"
"""Key of an adjustment: the percentage of turns in which searches hide memories."""


def stop_learning_holdout(runtime: Runtime, agent_id: str, by: str) -> Adjustment:
    """End the memory hold-out; raises NotFound, and Conflict if none runs."""
    require_agent_able_to_learn(runtime.home.agents, agent_id)
    facts, now = runtime.home.facts, runtime.clock.now()
    percent = learning_holdout_percent(learned_mind(facts, agent_id), runtime.rules.trials)
    if percent == 0:
        raise _nothing_hidden_error()
    made = Adjustment(
        id=adjustment_id(now, MEMORIES.text, by),
        at=now,
        kind=MEMORIES.kind,
        subject=MEMORIES.name,
        before={WITHHELD: percent},
        after={WITHHELD: 0},
        reason=STOPPED,
        by=by,
    )
    earlier = open_adjustments_of(page_of_adjustments(facts, agent_id), MEMORIES)
    return log_learning_change(
        agent_id,
        store_adjustment(
            runtime.home.facts, agent_id, LearningChange(made, _pin_memories, earlier)
        ),
    )


def _pin_memories(
    mind: AgentState, skill: AcquiredSkill | None
) -> tuple[AgentState, AcquiredSkill | None]:
    if is_learning_pinned(mind, MEMORIES):
        raise _nothing_hidden_error()
    return with_learned_pin(mind, MEMORIES), skill


def _nothing_hidden_error() -> Conflict:
    return Conflict(
        "this agent has no memory experiment",
        field="subject",
        cure="nothing to stop; list the experiments to see which run",
    )
