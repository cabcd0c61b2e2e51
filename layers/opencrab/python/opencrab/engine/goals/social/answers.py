"""Goals that wait for another agent: they rest after a question, and go on with the answer.

A social goal without a plan is completed by the answer itself, which the journal has, without a
model; unanswered it is abandoned. A promise goes on with the answer, or without it.
"""

from opencrab.domain.document import Document
from opencrab.domain.errors import NotFound
from opencrab.domain.goals.goal import Goal, GoalSource, GoalStatus
from opencrab.domain.goals.promise import is_goal_promised
from opencrab.domain.peers.talk import PATIENCE, PEER_TALK, PeerTalk
from opencrab.domain.turn.due_item import DueItem
from opencrab.engine.goals.queue import GoalBoard, dequeue_goal_and_begin_next, queue_goal
from opencrab.engine.goals.self_goals import is_self_set_goal, record_goal_outcome
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.receipt import receipts_of_turn
from opencrab.engine.turn.work import TurnWork

TALKING = "talk_to_peer"
"""The name of the action that asks another agent."""

_REACHING = frozenset({TALKING, "invite_to_discussion"})
"""Actions by which a social goal reaches somebody."""

_TALKS = 200
_AT_ONCE = 2
"""The most talks whose answers one goal waits for: a turn's end has room for few documents."""


def goal_waiting_for_peers(work: TurnWork, board: GoalBoard, goal: Goal) -> Goal | None:
    """Return a self-set goal that rests because this turn asked another agent; None for others.

    It rests until the answer is there, for PATIENCE at most.
    """
    asked = any(each.action == TALKING for each in receipts_of_turn(work))
    if not (asked and _may_wait(goal)) or work.turn.task != goal.id:
        return None
    talks = [fact for fact in _talks(board, goal) if _is_awaited(fact, work)][:_AT_ONCE]
    if not talks:
        return None
    for fact in talks:
        board.add_document(fact.with_body(fact.read(PeerTalk).replaced(waits=True)))
    return goal.replaced(status=GoalStatus.PENDING, rests_until=board.now + PATIENCE)


def is_goal_unanswered(board: GoalBoard, goal: Goal, *, heard: bool) -> bool:
    """Check whether an agent's own social goal reached nobody, or asked and got no answer.

    `heard` says that its turn spoke where somebody reads it.
    """
    if not (_is_for_an_answer(goal) and is_self_set_goal(goal)):
        return False
    receipts = (*goal.receipts, *(each for task in goal.tasks for each in task.receipts))
    done = {each.action for each in receipts}
    if TALKING not in done:
        return not (heard or _REACHING & done)
    return not any(fact.read(PeerTalk).answer_turn for fact in _talks(board, goal))


def goal_changes_after_answer(
    runtime: Runtime, agent_id: str, talk: PeerTalk, answer: str
) -> tuple[tuple[Document, ...], tuple[DueItem, ...]]:
    """Return the writes by which a goal that rests goes on; `answer` is "" if none will come."""
    if not talk.waits:
        return (), ()
    try:
        profile = runtime.home.agents.get(agent_id)
    except NotFound:
        return (), ()
    now = runtime.clock.now()
    board = GoalBoard.of(runtime.home.facts, profile, now)
    goal = board.goal(talk.goal)
    if goal is None or goal.status is not GoalStatus.PENDING or not _may_wait(goal):
        return (), ()
    if is_goal_promised(goal):
        # Others wait for what was promised, also if the agent has no heartbeats.
        queue_goal(board, goal.replaced(rests_until=None))
    elif _is_for_an_answer(goal):
        ended = goal.replaced(
            status=GoalStatus.COMPLETED if answer else GoalStatus.ABANDONED,
            report=answer,
            taint=goal.taint or bool(answer),
            rests_until=None,
            ended_at=now,
        )
        ended = record_goal_outcome(board, ended)
        board.put_goal(ended)
        dequeue_goal_and_begin_next(board, ended)
    else:
        board.put_goal(goal.replaced(rests_until=None))
    return board.facts, tuple(board.due)


def _is_for_an_answer(goal: Goal) -> bool:
    """Check whether a goal is to turn to another agent; what was promised to others is not."""
    return goal.source is GoalSource.SOCIAL and not is_goal_promised(goal)


def _may_wait(goal: Goal) -> bool:
    """Check whether a goal may rest for an answer: its agent set it itself, and it has no plan."""
    return is_self_set_goal(goal) and not goal.tasks and goal.pause is None


def _talks(board: GoalBoard, goal: Goal) -> list[Document]:
    page = board.facts_port.page(goal.agent_id, PEER_TALK, limit=_TALKS)
    return [fact for fact in page if fact.read(PeerTalk).goal == goal.id]


def _is_awaited(fact: Document, work: TurnWork) -> bool:
    talk = fact.read(PeerTalk)
    return talk.turn_id == work.turn.id and not (talk.answer_turn or talk.ended)
