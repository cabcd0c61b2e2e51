"""Due items: each is admitted when its time has come, or dropped with its error.

The next turn of a goal that an agent set itself is left to a heartbeat while the agent may not act
on its own, unless it promised that goal to others, who wait for it.
"""

import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.agent import AgentStatus
from opencrab.domain.errors import Changed, Conflict, NotFound, OpenCrabError, Unavailable
from opencrab.domain.goals.goal import Goal, Pause
from opencrab.domain.goals.promise import is_promised_goal_session
from opencrab.domain.peers.talk import HEARD_ITEM, MESSAGE_ITEM, TALK_ITEM
from opencrab.domain.turn.due_item import CLIENT_WAIT_ITEM, DueItem
from opencrab.engine.discussion import turn_taking
from opencrab.engine.goals.pausing import ATTEMPTS, notify_goal_channel, require_goal_document
from opencrab.engine.goals.queue import GoalBoard, dequeue_goal_and_begin_next, goal_turn_source
from opencrab.engine.goals.self_goals import leave_goal_to_next_heartbeat
from opencrab.engine.peers import talking
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.admission import admit_turn_for_due_item
from opencrab.ports.agents import Agents
from opencrab.ports.turn.journal import Journal

log = logging.getLogger(__name__)


def admit_or_drop_due_item(runtime: Runtime, item: DueItem) -> bool:
    """Admit a due item; drop one that can never be admitted, and pause its goal with the error.

    The next turn of a self-set goal is left to a heartbeat while the agent is not active or does
    not act on its own. Returns False if nothing was admitted; while a store is unavailable, the
    item stays for the next sweep.
    """
    admitted = True
    try:
        if _is_for_later(runtime.home.agents, item):
            _rest(runtime, item)
            admitted = False
        else:
            admit_due_item(runtime, item)
    except Unavailable:
        return False
    except OpenCrabError as error:
        log.warning("due item dropped: item=%s, error=%s", item.id, error.message)
        _strand(runtime, item, error.message)
        admitted = False
    runtime.home.due.remove(item.id)
    return admitted


def admit_due_item(runtime: Runtime, item: DueItem) -> None:
    """Admit a due item, creating its session first if it is new."""
    if item.floor is not None:
        turn_taking.give_floor_for_due_item(runtime, item)
        return
    if item.id.startswith(TALK_ITEM):
        talking.admit_message_to_peer(runtime, item)
        return
    if item.id.startswith(MESSAGE_ITEM):
        from opencrab.engine.peers.messages import bring_message_of_agent  # noqa: PLC0415 - seldom

        bring_message_of_agent(runtime, item)
        return
    if item.id.startswith(CLIENT_WAIT_ITEM):
        from opencrab.engine.client_tools.results import end_wait_for_client  # noqa: PLC0415

        end_wait_for_client(runtime, item)
        return
    if item.id.startswith(HEARD_ITEM):
        talking.hear_turn_of_peer(runtime, item)
        return
    admit_turn_for_due_item(runtime, item)


def _is_for_later(agents: Agents, item: DueItem) -> bool:
    if item.task is None or item.message.authority is not Authority.SELF:
        return False
    agent = agents.get(_agent_id_of(item)).agent
    may_act = agent.heartbeat.acts_on_its_own or is_promised_goal_session(item.session_id)
    return agent.status is not AgentStatus.ACTIVE or not may_act


def _strand(runtime: Runtime, item: DueItem, why: str) -> None:
    """Pause a goal whose next turn can never be admitted, and begin the next goal in the queue."""

    def waits(goal: Goal, now: datetime) -> Goal:
        wish = goal.pause or Pause(reason=why[:1_000], by="opencrab", at=now)
        return goal.replaced(pause=wish.replaced(turn_waits=False))

    _without_turn(runtime, item, waits)


def _rest(runtime: Runtime, item: DueItem) -> None:
    """Leave a goal whose next turn is due to a later heartbeat."""
    if item.session is not None:
        runtime.home.sessions.create(item.session)

    def rests(goal: Goal, _now: datetime) -> Goal | None:
        return (
            None
            if _is_there(runtime.home.journal, goal.turn_id)
            else leave_goal_to_next_heartbeat(goal)
        )

    _without_turn(runtime, item, rests)


def _agent_id_of(item: DueItem) -> str:
    """Return the id of the agent whose goal a due item belongs to."""
    return item.id.removeprefix("goal-").rpartition("-G")[0]


def _without_turn(
    runtime: Runtime, item: DueItem, change: Callable[[Goal, datetime], Goal | None]
) -> None:
    """Change the goal whose next turn will not start from this item; begin the next goal.

    `change` returns None to leave the goal as it is. Raises Conflict when concurrent updates
    exhaust the retries.
    """
    if item.task is None:
        return
    agent_id = _agent_id_of(item)
    with suppress(NotFound):
        profile = runtime.home.agents.get(agent_id)
        for _ in range(ATTEMPTS):
            fact = require_goal_document(runtime.home.facts, agent_id, item.task)
            goal, now = fact.read(Goal), runtime.clock.now()
            if item.message.source_id != goal_turn_source(goal):
                return
            changed = goal if goal.status.is_end else change(goal, now)
            if changed is None:
                return
            board = GoalBoard.of(runtime.home.facts, profile, now, fact)
            goal = changed.replaced(turn_id=None)
            board.put_goal(goal)
            dequeue_goal_and_begin_next(board, goal)
            with suppress(Changed):
                runtime.home.facts.commit(*board.facts, due=tuple(board.due))
                notify_goal_channel(runtime, goal)
                return
        raise Conflict(
            f"concurrent updates to agent {agent_id!r}; retries exhausted", cure="try again"
        )


def _is_there(journal: Journal, turn_id: str | None) -> bool:
    """Check whether a turn was already admitted."""
    if turn_id is None:
        return False
    with suppress(NotFound):
        return journal.header(turn_id).id == turn_id
    return False
