"""Self-set goals: how they continue, are replanned, and become experience.

A goal that others gave is neither repeated nor replanned: only after_turn.py applies to it.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from opencrab.domain.access.authority import Authority
from opencrab.domain.document import new_fact
from opencrab.domain.goals.expectation import goal_satisfaction
from opencrab.domain.goals.goal import Goal, GoalSource, GoalStatus, Pause, Task, TaskStatus
from opencrab.domain.goals.plan import is_plan_repairable
from opencrab.domain.identifier import content_hash, new_ulid
from opencrab.domain.memory.memory import EXPERIENCE, Experience
from opencrab.domain.outcome import Outcome
from opencrab.domain.turn.action import Effect
from opencrab.domain.turn.success_condition import (
    first_condition_unmet_by_turns,
    turn_success_conditions_of_goal,
)
from opencrab.domain.turn.turn import TurnStatus
from opencrab.engine.goals.queue import GoalBoard
from opencrab.engine.phrases import system_phrase
from opencrab.engine.turn.receipt import receipts_of_turn
from opencrab.engine.turn.work import TurnWork
from opencrab.ports.turn.action import one_line

_AFTER_FAILURE = timedelta(minutes=10)
_MORNING = timedelta(minutes=1)
_SENTENCE = 500
_CAUSE = 300
_BY_WORDS = {GoalSource.SOCIAL, GoalSource.ROLE, GoalSource.SURVIVAL}
"""Sources of goals that can be reached by saying something to somebody."""


def is_self_set_goal(goal: Goal) -> bool:
    """Check whether an agent set itself a goal."""
    return goal.authority is Authority.SELF


def task_continues_next_turn(work: TurnWork, goal: Goal, *, silent: bool) -> bool:
    """Check whether a task without an outcome continues in a new turn.

    It does if the turn was silent or did nothing, until its turns are used up.
    """
    task = goal.current
    if task is None or not is_self_set_goal(goal):
        return False
    return _is_empty(work, silent=silent) and task.turns < _turn_limit(work, task)


def fail_overdue_task(work: TurnWork, goal: Goal, *, silent: bool) -> Task | None:
    """Return the current task as failed because its turns are used up; None otherwise."""
    task = goal.current
    if task is None or not is_self_set_goal(goal) or not _is_empty(work, silent=silent):
        return None
    return _over(work, task)


def goal_after_failed_turn(work: TurnWork, goal: Goal, status: TurnStatus) -> Goal | None:
    """Return the goal after a turn that failed or hit a limit; None if a person must resume it.

    It continues at once after too many steps, after a pause if the turn failed, and on the next day
    if the budget was used up. A task whose turns are used up fails.
    """
    if not is_self_set_goal(goal) or goal.pause is not None or goal.left_micro_usd == 0:
        return None
    if status not in {TurnStatus.EXHAUSTED, TurnStatus.FAILED}:
        return None
    goal = goal.replaced(taint=goal.taint or work.turn.taint)
    now, task = work.runtime.clock.now(), goal.current
    if status is TurnStatus.EXHAUSTED and work.calls_left > 0:
        if task is not None:
            goal = goal.with_task(task.replaced(turns=max(task.turns - 1, 0)))
        return _resting(goal, _tomorrow(now))
    turns = goal.runs if task is None else task.turns
    if turns >= _turn_limit(work, task):
        return None if task is None else goal.with_task(_over(work, task))
    return goal if status is TurnStatus.EXHAUSTED else _resting(goal, now + turns * _AFTER_FAILURE)


def leave_goal_to_next_heartbeat(goal: Goal) -> Goal:
    """Return a goal whose next turn did not start, to be continued by a heartbeat."""
    task = goal.current
    if task is not None:
        goal = goal.with_task(task.replaced(turns=max(task.turns - 1, 0)))
    return goal.replaced(status=GoalStatus.PENDING)


def does_turn_give_up_own_goal(work: TurnWork, goal: Goal, status: TurnStatus) -> bool:
    """Check whether a silent turn means that the agent gives up its own unplanned goal.

    It does not if the goal says by what code sees that it is reached, and it is.
    """
    if not is_self_set_goal(goal) or goal.tasks or work.turn.task != goal.id:
        return False
    return status is TurnStatus.IDLE and not goal.status.is_end and not is_goal_met(goal, work)


def is_goal_met(goal: Goal, work: TurnWork) -> bool:
    """Check whether a self-set goal has success conditions, and actions for it meet them all."""
    if not (is_self_set_goal(goal) and turn_success_conditions_of_goal(goal.instruction)):
        return False
    return not (goal.children or _is_goal_unmet(goal, work))


def does_turn_end_own_goal_idle(
    work: TurnWork, goal: Goal, status: TurnStatus, *, spoke: bool
) -> bool:
    """Check whether a turn ends a self-set goal for which nothing was ever done.

    Words are a deed only where somebody hears them: an answer, what its owner asked it to say, or
    that its budget is low. Such an end is no experience, and no reward for the goal's source.
    """
    if does_turn_give_up_own_goal(work, goal, status):
        return True
    if (
        not is_self_set_goal(goal)
        or work.turn.task != goal.id
        or status is not TurnStatus.COMPLETED
    ):
        return False
    if _is_goal_unmet(goal, work):
        return True
    heard = goal.source in _BY_WORDS and work.turn.channel is not None and spoke
    return not (heard or is_goal_evident(goal, work))


def _is_goal_unmet(goal: Goal, work: TurnWork) -> bool:
    """Check whether a self-set goal has a success condition that no action for it meets.

    What subgoals have done is in their own records: then the goal itself has none to meet.
    """
    if goal.children or not is_self_set_goal(goal):
        return False
    receipts = (
        *goal.receipts,
        *(r for task in goal.tasks for r in task.receipts),
        *receipts_of_turn(work),
    )
    effects = ((receipt.action, receipt.path) for receipt in receipts)
    return first_condition_unmet_by_turns(goal.instruction, effects) is not None


def is_goal_evident(goal: Goal, work: TurnWork) -> bool:
    """Check whether the journal shows that something was done for a goal, in this turn or before.

    To read is no deed. A finished plan counts by its tasks, each by a receipt of its own.
    """
    if goal.children or any(task.confirmed for task in goal.tasks):
        return True
    found = (
        work.runtime.actions.find(each.action) for each in (*goal.receipts, *receipts_of_turn(work))
    )
    return any(action is None or action.effect is not Effect.PURE for action in found)


def is_goal_resting(goal: Goal) -> bool:
    """Check whether a goal after its turn waits for a heartbeat to continue it."""
    return goal.status is GoalStatus.PENDING


def goal_after_failed_tasks(goal: Goal, failed: list[Task], board: GoalBoard) -> Goal:
    """Return the goal after failed tasks: to be replanned, or paused for its owner."""
    if not failed or not is_self_set_goal(goal) or goal.stuck:
        return goal
    cause = one_line(f"{failed[0].id}: {failed[0].cause}", _CAUSE)
    if is_plan_repairable(goal):
        return goal.replaced(stuck=cause)
    return _asking(goal, cause, board)


def goal_after_failed_replan(goal: Goal, board: GoalBoard) -> Goal:
    """Return the goal after a turn that failed to replan it, paused for its owner."""
    return _asking(goal, goal.stuck, board)


def goal_pause_reason_for_owner(goal: Goal) -> list[str]:
    """Return the pause reason of a self-set goal for its owner; empty for other goals."""
    if goal.pause is None or not is_self_set_goal(goal):
        return []
    return [f"[{goal.id}] {goal.pause.reason}"]


def goal_pause_message_to_owner(
    goal: Goal, board: GoalBoard, may_tell: Callable[[], bool]
) -> list[str]:
    """Return the owner's message about a goal that was paused just now.

    For a tainted goal, or if the channel may not hear of it, the message contains only its id.
    """
    if goal.pause is None or goal.pause.at != board.now:
        return []
    if goal.taint or not may_tell():
        return [f"[{goal.id}] {system_phrase('goal_waits', board.profile.agent.language)}"]
    return goal_pause_reason_for_owner(goal)


def record_goal_outcome(board: GoalBoard, goal: Goal) -> Goal:
    """Return the ended goal with its satisfaction; store a self-set one as an experience."""
    if goal.satisfaction is not None:
        return goal
    came = goal_satisfaction(goal, board.now, board.reputation())
    if is_self_set_goal(goal):
        board.put_expectations(board.expectations().after(goal.source, came))
    if goal.status is not GoalStatus.COMPLETED:
        return goal
    goal = goal.replaced(satisfaction=came)
    if is_self_set_goal(goal):
        lived = experience_of_goal(goal, goal.id, goal.name, came.outcome, board.now)
        board.add_document(new_fact(goal.agent_id, EXPERIENCE, lived.id, lived))
    return goal


def record_failed_tasks(board: GoalBoard, goal: Goal, failed: Sequence[Task]) -> None:
    """Store each task of a self-set goal that a turn failed as an experience, with its cause."""
    if not is_self_set_goal(goal):
        return
    for task in failed:
        lived = experience_of_failed_task(goal, task, board.now)
        board.add_document(new_fact(goal.agent_id, EXPERIENCE, lived.id, lived))


def experience_of_failed_task(goal: Goal, task: Task, now: datetime) -> Experience:
    """Return the experience of a task that failed, whose lesson is the cause."""
    lived = experience_of_goal(goal, task.id, task.name, Outcome.FAILURE, now)
    lesson = one_line(task.cause, _SENTENCE) or one_line(task.name, _SENTENCE)
    return lived.replaced(lesson=lesson, about_turn=task.turn_id or "")


def experience_of_goal(
    goal: Goal, label: str, name: str, outcome: Outcome, now: datetime
) -> Experience:
    """Return the experience of a goal or of one of its tasks, whose lesson is its report."""
    lines = (one_line(row, _SENTENCE) for row in goal.report.splitlines())
    told = content_hash(f"{goal.session_id}#{label}".encode())
    return Experience(
        id=new_ulid(int(now.timestamp() * 1_000), bytes.fromhex(told)),
        experience=one_line(f"[{label}] {name}", _SENTENCE),
        outcome=outcome,
        lesson=next(filter(None, lines), goal.name),
        about_turn=goal.turn_id or "",
        tainted=goal.taint,
        turn_id=goal.turn_id or "",
        session_id=goal.session_id,
        person_id=goal.principal_id,
        at=now,
    )


def _asking(goal: Goal, cause: str, board: GoalBoard) -> Goal:
    reason = system_phrase("goal_stuck", board.profile.agent.language, cause=cause)
    return goal.replaced(pause=Pause(reason=reason, by="opencrab", at=board.now))


def _is_empty(work: TurnWork, *, silent: bool) -> bool:
    return silent or not receipts_of_turn(work)


def _turn_limit(work: TurnWork, task: Task | None) -> int:
    """Return the most turns of a task: the setting, or what its plan estimated if that is more."""
    most = work.runtime.rules.autonomy.task_turns
    return most if task is None else max(most, task.estimated_turns)


def _over(work: TurnWork, task: Task) -> Task:
    turns = _turn_limit(work, task)
    cause = system_phrase("task_over", work.profile.agent.language, turns=turns)
    return task.replaced(status=TaskStatus.FAIL, cause=cause, ended_at=work.runtime.clock.now())


def _resting(goal: Goal, until: datetime) -> Goal:
    return goal.replaced(status=GoalStatus.PENDING, rests_until=until)


def _tomorrow(now: datetime) -> datetime:
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight + timedelta(days=1) + _MORNING
