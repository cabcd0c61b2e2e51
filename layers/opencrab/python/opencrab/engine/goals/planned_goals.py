"""Planned goals: the steps for what an owner's standing instructions ask for, by their plan."""

from collections.abc import Sequence
from datetime import datetime

from opencrab.domain.agents.event import AgentEvent
from opencrab.domain.autonomy.instruction_plan import TRIES, PlannedGoal
from opencrab.domain.goals.goal import Goal, GoalStatus
from opencrab.domain.outcome import Outcome
from opencrab.domain.value import Language
from opencrab.engine.goals.generation_text import next_step_goal_text, planned_goal_text
from opencrab.engine.goals.queue import GoalBoard
from opencrab.ports.turn.action import one_line

_EVENT = 300
_NAME = 200


def aspirations_to_pursue(
    board: GoalBoard, aspired: list[Goal], asked_name: str, now: datetime
) -> list[Goal]:
    """Return the aspirations towards which steps may be taken.

    None while the model is asked for the plan of the instructions; without that of this name, the
    instructions, if their plan has nothing that is due by itself.
    """
    plan = board.instruction_plan()
    if plan is None:
        return aspired
    if plan.awaits_answer(now):
        return []
    idle = plan.planned and not plan.due_goals
    return [goal for goal in aspired if not (idle and goal.name == asked_name)]


def has_fresh_planned_goal(board: GoalBoard) -> bool:
    """Check whether instructions ask for something that was never begun."""
    plan = board.instruction_plan()
    return plan is not None and any(not goal.begun for goal in plan.due_goals)


def goal_step_texts(
    board: GoalBoard, aspired: list[Goal], asked_name: str, *, fresh_only: bool
) -> list[tuple[str, str]]:
    """Return name and description of the steps towards aspirations.

    Those of this name, the instructions, have one for each goal of their plan. With `fresh_only`
    only those that were never begun.
    """
    language, plan, texts = board.profile.agent.language, board.instruction_plan(), []
    for aspiration in aspired:
        asked = aspiration.name == asked_name
        if asked and plan is not None and plan.planned:
            fresh = [goal for goal in plan.due_goals if not goal.begun]
            texts += [_text(goal, board) for goal in fresh or plan.due_goals]
        elif not fresh_only:
            texts.append(next_step_goal_text(language, aspiration.name, asked=asked))
    return texts


def planned_event_goal_texts(board: GoalBoard, event: AgentEvent) -> list[tuple[str, str]]:
    """Return name and description of a step for each planned goal that waits for an event."""
    plan = board.instruction_plan()
    waiting = () if plan is None else (each for each in plan.goals if each.waits_for(event.type))
    told = one_line(event.text or event.type, _EVENT)
    return [_text(goal, board, told) for goal in waiting if not goal.done]


def settle_planned_goals(board: GoalBoard, ended: Sequence[Goal]) -> None:
    """Mark what shall be done once as done: a step completed it, or its steps are used up."""
    plan = board.instruction_plan()
    if plan is None:
        return
    completed = {
        goal.name
        for goal in ended
        if goal.status is GoalStatus.COMPLETED
        and goal.claim is not Outcome.FAILURE
        and goal.created_at >= plan.asked_at
    }
    for goal in plan.goals:
        if goal.once and goal.begun and not goal.done:
            over = _name(goal, board.profile.agent.language) in completed or goal.begun >= TRIES
            plan = plan.with_goal(goal.replaced(done=over))
    board.put_instruction_plan(plan)


def count_planned_goal(board: GoalBoard, step: Goal) -> None:
    """Count a step that begins, for what was never begun or shall be done once."""
    plan = board.instruction_plan()
    for goal in () if plan is None else plan.goals:
        if (goal.once or not goal.begun) and _name(goal, board.profile.agent.language) == step.name:
            assert plan is not None  # noqa: S101  - it has this goal
            board.put_instruction_plan(plan.with_goal(goal.replaced(begun=goal.begun + 1)))


def _text(goal: PlannedGoal, board: GoalBoard, event: str = "") -> tuple[str, str]:
    language = board.profile.agent.language
    return planned_goal_text(language, goal.name, goal.words, goal.done_when, event)


def _name(goal: PlannedGoal, language: Language) -> str:
    return one_line(planned_goal_text(language, goal.name, "", "")[0], _NAME)
