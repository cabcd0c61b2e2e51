"""Pausing: a goal waits, and with it the turn that works on it, until somebody says go on."""

from contextlib import suppress

from opencrab.domain.document import Document
from opencrab.domain.errors import Changed, Conflict, NotFound
from opencrab.domain.goals.goal import GOAL, Goal, GoalStatus, Pause, goal_id_of, goal_key
from opencrab.domain.turn.turn import Stop, Turn
from opencrab.engine.goals.panel_notice import queue_progress_panel
from opencrab.engine.goals.queue import GoalBoard, release_goal_queue_place
from opencrab.engine.runtime import Runtime
from opencrab.ports.documents import Documents

ATTEMPTS = 5


def stored_goal(facts: Documents, agent_id: str, label: str) -> Document:
    """The fact of a goal, by its id or by that of one of its tasks; raises NotFound, Invalid."""
    found = facts.get(agent_id, GOAL, goal_key(goal_id_of(label)))
    if found is None:
        raise NotFound(
            f"agent {agent_id!r} has no goal {label!r}", cure="list them with the agent's goals"
        )
    return found


def pause_goal(runtime: Runtime, agent_id: str, label: str, *, by: str, reason: str) -> Goal:
    """Let a goal wait before its next call; one that waits already stays as it is.

    The next goal in line may begin: its first turn is due. Raises NotFound, and Conflict for a goal
    that has ended.
    """
    profile = runtime.home.agents.get(agent_id)
    for _ in range(ATTEMPTS):
        fact = stored_goal(runtime.home.facts, agent_id, label)
        goal = fact.read(Goal)
        if goal.status.is_end:
            raise Conflict(f"{goal.id} has ended and cannot be paused")
        if goal.pause is None:
            board = GoalBoard.of(runtime.home.facts, profile, runtime.clock.now(), fact)
            wish = Pause(reason=reason[:1_000], by=by, at=board.now, turn_waits=True)
            goal = goal.replaced(pause=wish)
            board.put_goal(goal)
            release_goal_queue_place(board, goal)
            try:
                runtime.home.facts.commit(*board.facts, due=tuple(board.due))
            except Changed:
                continue
        if goal.turn_id is not None:
            # One that is not there yet reads it itself.
            with suppress(NotFound):
                align_turn_with_goal(runtime, goal, goal.turn_id)
        notify_goal_channel(runtime, goal)
        return goal
    raise Conflict(f"{label} has too many concurrent updates; retries exhausted", cure="try again")


def notify_goal_channel(runtime: Runtime, goal: Goal) -> None:
    """Let the channel in which a goal was given show that somebody has changed it."""
    if goal.channel is not None:
        key = f"{goal.id}-{runtime.clock.new_id()}"
        queue_progress_panel(runtime.home.deliveries, goal.channel, goal.agent_id, goal.id, key=key)


def align_turn_with_goal(runtime: Runtime, goal: Goal, turn_id: str) -> Turn:
    """Tell a turn to stop, to wait or to go on, as its goal does; raises NotFound.

    The goal is read again afterwards: somebody else may have paused or resumed it meanwhile and
    told the turn too early, and nobody would ever tell it again.
    """
    turn = _sync_turn_with_goal(runtime, goal, turn_id)
    for _ in range(ATTEMPTS):
        now = stored_goal(runtime.home.facts, goal.agent_id, goal.id).read(Goal)
        if (now.status, now.pause) == (goal.status, goal.pause):
            break
        goal = now
        turn = _sync_turn_with_goal(runtime, goal, turn_id)
    return turn


def _sync_turn_with_goal(runtime: Runtime, goal: Goal, turn_id: str) -> Turn:
    now, journal = runtime.clock.now(), runtime.home.journal
    if goal.status is GoalStatus.ABANDONED:
        wish = Stop(by="opencrab", reason="its goal was abandoned", at=now)
        return journal.stop(turn_id, wish)
    if goal.pause is not None:
        wish = Stop(by=goal.pause.by, reason=goal.pause.reason, at=now, pause=True)
        return journal.stop(turn_id, wish)
    return journal.resume(turn_id)
