"""Goals of Mika in a known world, as her stores hold them."""

from typing import Any

from opencrab.domain.agents.agent_state import MIND, Agenda, AgentState
from opencrab.domain.document import new_fact
from opencrab.domain.goals.goal import GOAL, Goal, Task, goal_document_id
from opencrab.engine.goals.queue import GoalBoard
from tests.unit.engine.known_world import NOW, World


def aim(number: int = 1, **changes: Any) -> Goal:
    """A goal that nobody has begun."""
    fields: dict[str, Any] = {
        "id": f"G{number}",
        "agent_id": "mika",
        "session_id": "s1",
        "name": "灯台を数える",
        "principal_id": "owner",
        "created_at": NOW,
    }
    return Goal(**fields | changes)


def step(number: int, **changes: Any) -> Task:
    """A task of the first goal."""
    fields: dict[str, Any] = {
        "id": f"G1-T{number}",
        "name": "Go there",
        "precondition": "-",
        "postcondition": "-",
    }
    return Task(**fields | changes)


def pursues(world: World, *goals: Goal, current: str | None = None, waiting: str = "") -> None:
    """Let Mika have goals: one at work, others in line by their ids."""
    line = tuple(waiting.split())
    opened = tuple(goal.id for goal in goals if not goal.status.is_end)
    agenda = Agenda(last_number=len(goals), current=current, waiting=line, open=opened)
    facts = world.runtime.home.facts
    facts.commit(new_fact("mika", MIND, MIND, AgentState(agenda=agenda)))
    for goal in goals:
        facts.commit(new_fact("mika", GOAL, goal_document_id(goal.id), goal))


def board(world: World) -> GoalBoard:
    """Mika's mind and goals, to be changed."""
    profile = world.runtime.home.agents.get("mika")
    return GoalBoard.of(world.runtime.home.facts, profile, NOW)
