"""Goal selection: which of its open goals an agent continues, and which it starts.

The caller commits the board's documents and due items.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.agents.agent import Profile
from opencrab.domain.autonomy.vital_signs import VitalSigns
from opencrab.domain.goals.goal import Goal, GoalSource
from opencrab.domain.goals.owner_order import advance_ordered_goals
from opencrab.domain.goals.priority import Score
from opencrab.domain.goals.selection import goal_begins_at, may_begin_goal, rank_goals, score_goal
from opencrab.domain.goals.value_estimate import Horizon
from opencrab.engine.goals.conditions import check_task_preconditions
from opencrab.engine.goals.queue import GoalBoard, queue_goal
from opencrab.engine.goals.self_goals import goal_after_failed_tasks, is_self_set_goal
from opencrab.engine.runtime import Runtime

UNANSWERED = timedelta(days=1)
"""Time that an agent with no other work waits for its owner before it becomes dormant."""


@dataclass(frozen=True)
class GoalPreferences:
    """The summary of an agent's goals for its vital signs.

    `goal_at` is the earliest time when a goal is worth beginning; none begins while another one is
    active (`taken`). `exploring` is true if an exploration goal is open and not paused.
    """

    goal_at: datetime | None = None
    exploring: bool = False
    taken: bool = False


def goal_preferences(runtime: Runtime, profile: Profile, now: datetime) -> GoalPreferences:
    """Return the summary of an agent's goals, with at most one read.

    `profile` must be fresh, with the agent state.
    """
    if not profile.mind.agenda.open:
        return GoalPreferences(taken=profile.mind.agenda.current is not None)
    board = GoalBoard.of(runtime.home.facts, profile, now)
    board.use_agent_state(profile.mind)
    return GoalPreferences(
        goal_at=min((at for _, at in _startable(runtime, board)), default=None),
        exploring=count_goals_from(running_goals(board.open_goals()), GoalSource.CURIOSITY) > 0,
        taken=board.agenda().current is not None,
    )


def explain_goal_priorities(
    runtime: Runtime, agent_id: str, goals: Iterable[Goal]
) -> dict[str, Score]:
    """Return the priority score of each open goal among `goals`, term by term."""
    listed = [goal for goal in goals if not goal.status.is_end]
    if not listed:
        return {}
    profile, now = runtime.home.agents.get(agent_id), runtime.clock.now()
    able = GoalBoard.of(runtime.home.facts, profile, now).expectations().capability
    return {goal.id: score_goal(goal, able, profile.soul.weights, now) for goal in listed}


def begin_best_goal(runtime: Runtime, board: GoalBoard, now: datetime) -> Goal | None:
    """Begin the goal with the highest priority among those that may begin and are worth it.

    Its owner's goals are sorted as the owner wants them. A goal that nobody gave is then served
    with the agent's own authority. None if no goal may begin or another one is active.
    """
    if board.agenda().current is not None:
        return None
    fitting = [goal for goal, at in _startable(runtime, board) if at <= now]
    if not fitting:
        return None
    able, drives = board.expectations().capability, board.profile.soul.weights
    ranked = [goal for goal, _ in rank_goals(fitting, able, drives, now)]
    best = board.owner_order().sort(ranked)[0]
    if not best.given:
        best = best.replaced(door=Source.HEARTBEAT, authority=Authority.SELF)
    best, failed = check_task_preconditions(
        runtime.home.files, board, best, first=is_self_set_goal(best)
    )
    return begin_or_queue_goal(board, goal_after_failed_tasks(best, failed, board))


def _startable(runtime: Runtime, board: GoalBoard) -> list[tuple[Goal, datetime]]:
    """Return the goals that the agent may begin by itself, and when each is worth it."""
    able, drives = board.expectations().capability, board.profile.soul.weights
    threshold = runtime.rules.autonomy.goal_threshold
    unasked = board.profile.agent.heartbeat.acts_on_its_own
    may = (goal for goal in board.open_goals() if may_begin_goal(goal, unasked=unasked))
    when = ((goal, goal_begins_at(goal, able, drives, threshold)) for goal in may)
    ordered = advance_ordered_goals(when, board.owner_order())
    return [(goal, at) for goal, at in ordered if at is not None]


def are_paused_goals_overdue(board: GoalBoard, signs: VitalSigns | None, now: datetime) -> bool:
    """Check whether only paused goals are left, and one waited for the owner too long.

    Waking the agent restarts the wait.
    """
    if not board.profile.agent.heartbeat.acts_on_its_own:
        return False
    if board.agenda().current is not None or (signs is not None and signs.has_pending_input):
        return False
    open_now = [goal for goal in board.open_goals() if goal.horizon is Horizon.OBJECTIVE]
    since = board.profile.agent.updated_at
    waiting = [
        goal.pause.at for goal in open_now if goal.pause is not None and is_self_set_goal(goal)
    ]
    if len(running_goals(open_now)) > 0 or not waiting:
        return False
    return now - max(min(waiting), since) >= UNANSWERED


def begin_or_queue_goal(board: GoalBoard, goal: Goal) -> Goal | None:
    """Begin or queue a goal; return None if it is paused."""
    board.put_goal(goal)
    if goal.pause is not None:
        return None
    queue_goal(board, goal)
    return board.goal(goal.id) or goal


def running_goals(goals: Iterable[Goal]) -> list[Goal]:
    """Return the goals that are not paused."""
    return [goal for goal in goals if goal.pause is None]


def count_goals_from(goals: Iterable[Goal], source: GoalSource) -> int:
    """Count the goals that have this source."""
    return sum(goal.source is source for goal in goals)
