"""Pausing: stops a goal and its turn until somebody resumes them."""

from collections.abc import Iterable
from contextlib import suppress
from datetime import timedelta

from opencrab.domain.agents.agent import Profile
from opencrab.domain.conversation.session import Session
from opencrab.domain.document import Document
from opencrab.domain.errors import Changed, Conflict, NotFound, Unavailable
from opencrab.domain.goals.goal import (
    GOAL,
    Goal,
    GoalStatus,
    Pause,
    goal_document_id,
    goal_id_of_label,
)
from opencrab.domain.turn.interrupt import Interrupt
from opencrab.domain.turn.turn import Stop, Turn, TurnStatus
from opencrab.engine.goals.panel_notice import queue_goal_progress_panel
from opencrab.engine.goals.queue import GoalBoard, dequeue_goal_and_begin_next
from opencrab.engine.runtime import Runtime
from opencrab.ports.documents import Documents

ATTEMPTS = 5
AFTER_OWNER = timedelta(minutes=1)
"""How long a goal that gave way to its owner's word waits before it goes on."""


def require_goal_document(facts: Documents, agent_id: str, label: str) -> Document:
    """Return the document of a goal, by its id or a task's id; raise NotFound, Invalid."""
    found = facts.get(agent_id, GOAL, goal_document_id(goal_id_of_label(label)))
    if found is None:
        raise goal_not_found_error(agent_id, label)
    return found


def goal_not_found_error(agent_id: str, label: str) -> NotFound:
    """Return the error for a goal that does not exist, or that the caller does not see."""
    return NotFound(
        f"agent {agent_id!r} has no goal {label!r}", cure="list them with the agent's goals"
    )


def pause_goal(runtime: Runtime, agent_id: str, label: str, *, by: str, reason: str) -> Goal:
    """Pause a goal before its next call; one that is paused stays as it is.

    The next goal in the queue begins: its first turn is due. Raises NotFound, and Conflict for a
    goal that has ended.
    """
    profile = runtime.home.agents.get(agent_id)
    for _ in range(ATTEMPTS):
        fact = require_goal_document(runtime.home.facts, agent_id, label)
        goal = fact.read(Goal)
        if goal.status.is_end:
            raise Conflict(
                f"goal {goal.id} has ended and cannot be paused", cure="give the agent a new goal"
            )
        if goal.pause is None:
            board = GoalBoard.of(runtime.home.facts, profile, runtime.clock.now(), fact)
            wish = Pause(reason=reason[:1_000], by=by, at=board.now, turn_waits=True)
            goal = goal.replaced(pause=wish)
            board.put_goal(goal)
            dequeue_goal_and_begin_next(board, goal)
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
    raise Conflict(f"concurrent updates to goal {label!r}; retries exhausted", cure="try again")


def interrupt_goals_for_owner(
    runtime: Runtime, session: Session, profiles: Iterable[Profile]
) -> None:
    """Stop the turns that carry out goals of a conversation's agents, so that the owner is first.

    By each agent's policy it ends now or after its step; with `queue` it goes on beside the answer.
    A turn that waits for an approval is left. The goal goes on by itself soon after. If the store
    fails here, the turn goes on as well.
    """
    if session.discusses:
        return
    for profile in profiles:
        agent, current = profile.agent, profile.mind.agenda.current
        if current is None or agent.interrupt is Interrupt.QUEUE:
            continue
        with suppress(NotFound, Unavailable):
            goal = require_goal_document(runtime.home.facts, agent.id, current).read(Goal)
            if goal.turn_id is None or goal.pause is not None:
                continue
            if runtime.home.journal.header(goal.turn_id).status is TurnStatus.RUNNING:
                stop = Stop.for_next_message(agent.interrupt, runtime.clock.now())
                runtime.home.journal.stop(goal.turn_id, stop)


def goal_after_interruption(goal: Goal) -> Goal:
    """Return a goal whose turn gave way to its owner: it goes on where it was, uncounted."""
    task = goal.current
    return goal if task is None else goal.with_task(task.replaced(turns=max(task.turns - 1, 0)))


def notify_goal_channel(runtime: Runtime, goal: Goal) -> None:
    """Update the progress panel of a goal in the channel where it was given."""
    if goal.channel is not None:
        key = f"{goal.id}-{runtime.clock.new_id()}"
        queue_goal_progress_panel(
            runtime.home.deliveries, goal.channel, goal.agent_id, goal.id, key=key
        )


def align_turn_with_goal(runtime: Runtime, goal: Goal, turn_id: str) -> Turn:
    """Stop, pause or resume a turn to match its goal; raise NotFound.

    The goal is read again afterwards and the turn changed again if needed: a concurrent pause or
    resume may have reached the goal but not the turn.
    """
    turn = _sync_turn_with_goal(runtime, goal, turn_id)
    for _ in range(ATTEMPTS):
        now = require_goal_document(runtime.home.facts, goal.agent_id, goal.id).read(Goal)
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
