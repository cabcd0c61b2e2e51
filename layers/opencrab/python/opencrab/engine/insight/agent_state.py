"""An agent's current state: input, plan, thought, action and result, as one value.

Missing values are null and empty lists are empty, so an agent that never ran a turn has a state
too.
"""

from typing import Literal

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.agents.agent import Profile
from opencrab.domain.goals.goal import GOAL, Goal, TaskStatus, goal_document_id
from opencrab.domain.value import Value
from opencrab.engine.insight import turn_index
from opencrab.engine.insight.turn_events import (
    ActionEvent,
    GoalEvent,
    InputEvent,
    ResultEvent,
    ThoughtEvent,
    TurnEvents,
    insight_events_of_turn,
)
from opencrab.engine.runtime import Runtime
from opencrab.ports.documents import Documents


class StateInput(Value):
    """Source, authority and text of the message that started the newest turn.

    Avatar had two authorities. Its `user` (chat, cli, discord) is `owner` or `user` here, by the
    sender's authentication; its `public` (roblox, x) is `public`. Avatar's own initiative is
    `self`, and a message of another agent is `peer`.
    """

    source: Source | None = None
    authority: Authority | None = None
    text: str | None = None


class StateTask(Value):
    """A task of an open goal."""

    id: str
    name: str
    status: TaskStatus


class StateGoal(Value):
    """An open goal; here `active` includes goals that are started, queued or paused."""

    id: str
    name: str
    status: Literal["active"] = "active"
    tasks: tuple[StateTask, ...]


class StatePlan(Value):
    """The purpose, and the goals that have not ended: the oldest first, tasks as planned."""

    purpose: str | None = None
    goals: tuple[StateGoal, ...] = ()


class StateThought(Value):
    """The newest turn's last view of its situation, and its intention."""

    judgment: str | None = None
    intent: str | None = None


class StateAction(Value):
    """The newest turn's last action; without a phase it is over."""

    phase: Literal["approving", "executing"] | None = None
    summary: str | None = None


class StateResult(Value):
    """Last result of the newest turn's actions, or of the turn itself."""

    status: Literal["done", "fail"] | None = None
    summary: str | None = None


class State(Value):
    """An agent's current state.

    `plan` is made from its open goals; the other fields are of its newest turn.
    """

    input: StateInput = StateInput()
    plan: StatePlan = StatePlan()
    thought: StateThought = StateThought()
    action: StateAction = StateAction()
    result: StateResult = StateResult()


def agent_state_for_insight(runtime: Runtime, agent_id: str) -> State:
    """Return an agent's current state; raises NotFound."""
    profile = runtime.home.agents.get(agent_id)
    planned = _plan(runtime.home.facts, profile)
    found = turn_index.newest_turn_ids_for_insight(runtime, agent_id)
    told = insight_events_of_turn(runtime, found[0], profile.agent.language) if found else None
    return State(plan=planned) if told is None else _apply_turn_events(State(plan=planned), told)


def _plan(facts: Documents, profile: Profile) -> StatePlan:
    agent = profile.agent
    stored = (
        facts.get(agent.id, GOAL, goal_document_id(goal_id))
        for goal_id in sorted(profile.mind.agenda.open, key=lambda goal_id: int(goal_id[1:]))
    )
    goals = (fact.read(Goal) for fact in stored if fact is not None)
    return StatePlan(
        purpose=agent.purpose or None,
        goals=tuple(_goal(goal) for goal in goals if not goal.status.is_end),
    )


def _goal(goal: Goal) -> StateGoal:
    tasks = (StateTask(id=task.id, name=task.name, status=task.status) for task in goal.tasks)
    return StateGoal(id=goal.id, name=goal.name, tasks=tuple(tasks))


def _apply_turn_events(state: State, told: TurnEvents) -> State:
    """Return the state after all events of a turn so far."""
    for event in told.events:
        match event:
            case InputEvent():
                given = StateInput(
                    source=event.source, authority=told.turn.authority, text=event.text
                )
                state = state.replaced(input=given)
            case ThoughtEvent():
                thought = StateThought(judgment=event.judgment or None, intent=event.intent or None)
                state = state.replaced(thought=thought)
            case ActionEvent():
                state = state.replaced(action=StateAction(summary=event.summary))
            case ResultEvent():
                result = StateResult(status=event.status, summary=event.summary)
                state = state.replaced(result=result)
            case GoalEvent():
                pass
    if not told.busy:
        return state
    phase: Literal["approving", "executing"] = "approving" if told.approving else "executing"
    return state.replaced(action=state.action.replaced(phase=phase))
