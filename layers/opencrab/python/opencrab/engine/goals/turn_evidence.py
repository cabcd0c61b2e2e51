"""Evidence: what the steps of a turn tell about its goals."""

from collections.abc import Sequence

from opencrab.domain.access.authority import does_authority_taint_reader
from opencrab.domain.document import new_fact
from opencrab.domain.goals.goal import Goal, GoalStatus, Task, goal_id_of_label
from opencrab.domain.memory.memory import EXPERIENCE
from opencrab.domain.outcome import Outcome
from opencrab.domain.turn.record import action_name_of_turn_call
from opencrab.domain.turn.turn import TurnStatus
from opencrab.engine.goals.queue import GoalBoard
from opencrab.engine.goals.self_goals import (
    experience_of_failed_task,
    experience_of_goal,
    is_goal_evident,
    is_self_set_goal,
)
from opencrab.engine.turn.work import TurnWork

LESSONS = frozenset({"learn_from_experience", "learn_from_peer", "reflect_and_learn"})
"""Actions that store a new experience."""


def has_goal_turn_stored_lesson(work: TurnWork) -> bool:
    """Check whether the turn stored an experience of its own."""
    return any(
        result.success and action_name_of_turn_call(call) in LESSONS
        for call, result in work.transcript.ended_calls
    )


def record_given_goal(
    work: TurnWork, board: GoalBoard, goal: Goal, failed: Sequence[Task], status: TurnStatus
) -> None:
    """Store the experience of a turn for a goal that others gave, if the journal proves one.

    It is the task that the turn failed, or the goal that it completed with an effect. A turn that
    was silent, or stored a lesson itself, adds none.
    """
    if is_self_set_goal(goal) or status is TurnStatus.IDLE or has_goal_turn_stored_lesson(work):
        return
    if failed:
        lived = experience_of_failed_task(goal, failed[0], board.now)
    elif (outcome := _proven_outcome(work, goal)) is not None:
        lived = experience_of_goal(goal, goal.id, goal.name, outcome, board.now)
    else:
        return
    tainted = lived.tainted or does_authority_taint_reader(goal.authority)
    board.add_document(
        new_fact(goal.agent_id, EXPERIENCE, lived.id, lived.replaced(tainted=tainted))
    )


def _proven_outcome(work: TurnWork, goal: Goal) -> Outcome | None:
    """Return the outcome of a goal that was completed now with an effect; None of others."""
    came = goal.satisfaction
    if goal.status is not GoalStatus.COMPLETED or came is None or not is_goal_evident(goal, work):
        return None
    return None if came.outcome is Outcome.UNKNOWN else came.outcome


def last_speech_of_goal_turn(work: TurnWork) -> str:
    """Return the last text that the turn spoke with an action; "" for none."""
    spoken = [effect.text for effect in work.transcript.effects if effect.kind == "spoke"]
    return spoken[-1] if spoken else ""


def goals_started_by_turn(work: TurnWork) -> list[str]:
    """Return the ids of goals that this turn started, except its own."""
    own = None if work.turn.task is None else goal_id_of_label(work.turn.task)
    names = [
        effect.goal
        for effect in work.transcript.effects
        if effect.kind == "goal_begun" and effect.goal != own
    ]
    return list(dict.fromkeys(names))


def why_goal_plan_was_refused(work: TurnWork) -> str | None:
    """Return why the turn's last plan was refused; None if there was none or it was accepted."""
    ended = work.transcript.ended_calls
    answers = [result for call, result in ended if action_name_of_turn_call(call) == "plan_goal"]
    return None if not answers or answers[-1].success else answers[-1].error or ""
