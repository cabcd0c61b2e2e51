"""Ordering: an owner sorts its open goals; the agent begins them in that order."""

from opencrab.domain.agents.agent_state import Agenda
from opencrab.domain.errors import Changed, Conflict, Invalid
from opencrab.domain.goals.goal import Goal
from opencrab.domain.goals.owner_order import OwnerOrder, is_goal_orderable
from opencrab.domain.goals.selection import rank_goals
from opencrab.domain.value import GoalId
from opencrab.engine.goals.pausing import ATTEMPTS
from opencrab.engine.goals.queue import GoalBoard
from opencrab.engine.runtime import Runtime


def goals_in_owner_order(runtime: Runtime, agent_id: str) -> tuple[Goal, ...]:
    """Return an owner's open objectives in the order in which the agent takes them.

    The one that it carries out now is not among them.
    """
    profile, now = runtime.home.agents.get(agent_id), runtime.clock.now()
    return _in_order(GoalBoard.of(runtime.home.facts, profile, now))


def order_owner_goals(
    runtime: Runtime, agent_id: str, wanted: tuple[GoalId, ...]
) -> tuple[Goal, ...]:
    """Set the order in which an agent takes its owner's goals, and return all of them.

    Those that are left out follow by their priority. Raises NotFound, Invalid for a goal that
    cannot be sorted, and Conflict.
    """
    profile = runtime.home.agents.get(agent_id)
    for _ in range(ATTEMPTS):
        board = GoalBoard.of(runtime.home.facts, profile, runtime.clock.now())
        _require_orderable(board, wanted)
        board.put_owner_order(OwnerOrder(goals=wanted))
        agenda = _with_waiting_in_order(board, wanted)
        if agenda != board.agenda():
            board.put_agenda(agenda)
        try:
            runtime.home.facts.commit(*board.facts)
        except Changed:
            continue
        return _in_order(board)
    raise Conflict(f"concurrent updates to agent {agent_id!r}; retries exhausted", cure="try again")


def _orderable(board: GoalBoard) -> list[Goal]:
    current = board.agenda().current
    return [each for each in board.open_goals() if is_goal_orderable(each) and each.id != current]


def _require_orderable(board: GoalBoard, wanted: tuple[GoalId, ...]) -> None:
    known = {goal.id for goal in _orderable(board)}
    wrong = next((goal_id for goal_id in wanted if goal_id not in known), None)
    if wrong is None and len(set(wanted)) == len(wanted):
        return
    raise Invalid(
        "a goal is listed twice"
        if wrong is None
        else f"goal {wrong} is not an open objective of its owner that waits to be begun",
        field="goals",
        cure="load the order again and sort what it lists",
    )


def _in_order(board: GoalBoard) -> tuple[Goal, ...]:
    """Sort the goals: those in the queue first, then by priority and the owner's order."""
    able, drives = board.expectations().capability, board.profile.soul.weights
    goals = {goal.id: goal for goal in _orderable(board)}
    queued = [goals.pop(goal_id) for goal_id in board.agenda().waiting if goal_id in goals]
    ranked = [goal for goal, _ in rank_goals(goals.values(), able, drives, board.now)]
    return (*queued, *board.owner_order().sort(ranked))


def _with_waiting_in_order(board: GoalBoard, wanted: tuple[GoalId, ...]) -> Agenda:
    """Sort the queue: goals that its owner sorted before a queued one are queued as well."""
    agenda = board.agenda()
    paused = {goal.id for goal in _orderable(board) if goal.pause is not None}
    last = max((n for n, each in enumerate(wanted, 1) if each in agenda.waiting), default=0)
    head = tuple(each for each in wanted[:last] if each not in paused)
    return agenda.replaced(waiting=(*head, *(each for each in agenda.waiting if each not in head)))
