"""Goal selection: which of its open goals an agent continues, and the one that it starts.

Whoever calls commits the facts and due items of the board.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.agents.agent import Profile
from opencrab.domain.autonomy.vital_signs import VitalSigns
from opencrab.domain.goals.goal import Goal, GoalSource
from opencrab.domain.goals.priority import Score
from opencrab.domain.goals.selection import goal_begins_at, may_begin_goal, rank_goals, score_goal
from opencrab.domain.goals.value_estimate import Horizon
from opencrab.engine.goals.conditions import check_task_preconditions
from opencrab.engine.goals.queue import GoalBoard, queue_goal
from opencrab.engine.goals.self_goals import goal_after_failed_tasks, is_self_set_goal
from opencrab.engine.runtime import Runtime

UNANSWERED = timedelta(days=1)
"""How long an agent with nothing else to do waits for its owner before it sleeps."""


@dataclass(frozen=True)
class GoalPreferences:
    """What the vital signs are to know of an agent's goals.

    `goal_at` is when the first goal that may begin is worth it, whether or not one is `taken` up
    now, as long as which none begins. `exploring` says that a goal out of curiosity is open and
    waits for nobody.
    """

    goal_at: datetime | None = None
    exploring: bool = False
    taken: bool = False


def goal_preferences(runtime: Runtime, profile: Profile, now: datetime) -> GoalPreferences:
    """What an agent wants by itself and for its owner, with at most one read.

    The profile is one that was just read, with its mind.
    """
    if not profile.mind.agenda.open:
        return GoalPreferences(taken=profile.mind.agenda.current is not None)
    board = GoalBoard.of(runtime.home.facts, profile, now)
    board.assume(profile.mind)
    return GoalPreferences(
        goal_at=min((at for _, at in _startable(runtime, board)), default=None),
        exploring=count_goals_by_source(running_goals(board.open_goals()), GoalSource.CURIOSITY)
        > 0,
        taken=board.agenda().current is not None,
    )


def explain_goal_priorities(
    runtime: Runtime, agent_id: str, goals: Iterable[Goal]
) -> dict[str, Score]:
    """How much an agent wants those of some goals that are open, term by term."""
    listed = [goal for goal in goals if not goal.status.is_end]
    if not listed:
        return {}
    profile, now = runtime.home.agents.get(agent_id), runtime.clock.now()
    able = GoalBoard.of(runtime.home.facts, profile, now).expectations().capability
    return {goal.id: score_goal(goal, able, profile.soul.weights, now) for goal in listed}


def begin_best_goal(runtime: Runtime, board: GoalBoard, now: datetime) -> Goal | None:
    """Begin the goal that the agent wants most of those that may begin and are worth it.

    What nobody gave is the agent's own from then on, whatever conversation it came up in. None
    where nothing may begin, or while another one is being carried out.
    """
    if board.agenda().current is not None:
        return None
    fitting = [goal for goal, at in _startable(runtime, board) if at <= now]
    if not fitting:
        return None
    able, drives = board.expectations().capability, board.profile.soul.weights
    best, _ = rank_goals(fitting, able, drives, now)[0]
    if not best.given:
        best = best.replaced(door=Source.HEARTBEAT, authority=Authority.SELF)
    best, failed = check_task_preconditions(
        runtime.home.files, board, best, first=is_self_set_goal(best)
    )
    return begin_or_queue_goal(board, goal_after_failed_tasks(best, failed, board))


def _startable(runtime: Runtime, board: GoalBoard) -> list[tuple[Goal, datetime]]:
    """Goals that the agent may begin by itself, and when each is worth it."""
    able, drives = board.expectations().capability, board.profile.soul.weights
    threshold = runtime.rules.autonomy.goal_threshold
    unasked = board.profile.agent.heartbeat.acts_unasked
    may = (goal for goal in board.open_goals() if may_begin_goal(goal, unasked=unasked))
    when = ((goal, goal_begins_at(goal, able, drives, threshold)) for goal in may)
    return [(goal, at) for goal, at in when if at is not None]


def owner_wait_is_overdue(board: GoalBoard, signs: VitalSigns | None, now: datetime) -> bool:
    """Whether nothing is left but goals of which one has waited for the owner too long.

    Somebody who woke the agent meanwhile gives it as long again.
    """
    if not board.profile.agent.heartbeat.acts_unasked:
        return False
    if board.agenda().current is not None or (signs is not None and signs.is_called):
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
    """Begin a goal, or let it have its place in line; None where it waits for somebody."""
    board.put_goal(goal)
    if goal.pause is not None:
        return None
    queue_goal(board, goal)
    return board.goal(goal.id) or goal


def running_goals(goals: Iterable[Goal]) -> list[Goal]:
    """The goals that wait for nobody."""
    return [goal for goal in goals if goal.pause is None]


def count_goals_by_source(goals: Iterable[Goal], source: GoalSource) -> int:
    """How many goals have this source."""
    return sum(goal.source is source for goal in goals)
