"""Settling promises: code judges each by its goal, and those to whom it was made learn of it.

Everything here may be repeated. Trust moves once: it is written with the mark that the agent knows.
"""

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime

from opencrab.domain.conversation.session import PARTICIPANTS
from opencrab.domain.discussion.outcome import DiscussionOutcome
from opencrab.domain.document import Document, new_fact
from opencrab.domain.errors import Changed, Invalid, NotFound
from opencrab.domain.goals.condition import first_unmet_goal_condition, parse_goal_conditions
from opencrab.domain.goals.goal import GOAL, ActionReceipt, Goal, goal_document_id
from opencrab.domain.goals.promise import (
    PROMISE,
    PROMISE_BOARD,
    Promise,
    PromiseBoard,
    PromiseStatus,
    brief_goal_promise,
    goal_promises_due_item,
    is_goal_done_in_time,
)
from opencrab.domain.money.budget import INSTALLATION
from opencrab.domain.turn.action import Effect
from opencrab.engine.agents.events import send_agent_promise_end_event
from opencrab.engine.discussion.after_turn import (
    trust_change_after_discussion,
    was_discussion_agreed,
)
from opencrab.engine.goals.instructions import cancel_goal
from opencrab.engine.runtime import Runtime
from opencrab.ports.turn.action import one_line

_STEPS = 4 * PARTICIPANTS
"""The most steps of one promise: it is announced, judged, and told to each; some are retried."""

_ASKING = frozenset({"talk_to_peer", "ask_for_help"})
_EVIDENCE = 5
_PIECE = 300


def settle_discussion_promises(runtime: Runtime, outcome: DiscussionOutcome) -> None:
    """Announce, judge and report the promises that a discussion's outcome led to."""
    for task in outcome.tasks:
        if task.promise_id:
            _settle(runtime, task.agent_id, task.promise_id)


def discussion_promise_holds_already(runtime: Runtime, promise: Promise) -> bool:
    """Check whether the conditions of a promise hold before anything was done for it."""
    return _checks(promise) and _first_unmet(runtime, promise) is None


def _settle(runtime: Runtime, agent_id: str, promise_id: str) -> None:
    facts = runtime.home.facts
    for _ in range(_STEPS):
        stored = facts.get(agent_id, PROMISE, promise_id)
        if stored is None:
            return
        promise = stored.read(Promise)
        with suppress(Changed):
            if not promise.announced:
                _announce(runtime, stored, promise)
            elif promise.status is PromiseStatus.OPEN:
                judged = _judge(runtime, promise, runtime.clock.now())
                if judged == promise:
                    return
                facts.commit(stored.with_body(judged))
            elif not _tell_next(runtime, stored, promise):
                return


def _announce(runtime: Runtime, stored: Document, promise: Promise) -> None:
    """Put a new promise on the boards of all concerned, and judge it when it is due."""
    names = _names(runtime, promise.to)
    for agent_id in (promise.agent_id, *promise.to):
        runtime.home.facts.commit(*_board_change(runtime, agent_id, promise, names))
    due = goal_promises_due_item(promise.session_id, f"due-{promise.id}", promise.due)
    told = promise.replaced(announced=True)
    runtime.home.facts.commit(stored.with_body(told), due=(due,))


def _tell_next(runtime: Runtime, stored: Document, promise: Promise) -> bool:
    """Tell the next agent how a promise ended; return False if all know.

    An agent to whom it was made changes its trust. The goal of a withdrawn promise ends.
    """
    waiting = (each for each in (promise.agent_id, *promise.to) if each not in promise.told)
    agent_id = next(waiting, None)
    if agent_id is None:
        return False
    own, facts = agent_id == promise.agent_id, runtime.home.facts
    if own and promise.status is PromiseStatus.WITHDRAWN:
        with suppress(NotFound):
            cancel_goal(
                runtime, agent_id, promise.goal_id, by=agent_id, reason=promise.reason, tells=False
            )
    changes = _board_change(runtime, agent_id, promise, _names(runtime, promise.to))
    if not own:
        send_agent_promise_end_event(runtime, agent_id, promise)
        if promise.status is not PromiseStatus.WITHDRAWN:
            at = _last_contact(promise, runtime.clock.now())
            changes += trust_change_after_discussion(
                facts,
                agent_id,
                promise.agent_id,
                promise.status.outcome,
                session_id="",
                at=at,
                undoes_success=_undoes_agreement(runtime, promise),
            )
    told = promise.replaced(told=(*promise.told, agent_id))
    facts.commit(stored.with_body(told), *changes)
    return True


def _last_contact(promise: Promise, now: datetime) -> datetime:
    """Return when a promise's agent last did something for the others.

    To break it is nothing done: it lowers trust, and does not renew what fades.
    """
    if promise.status is PromiseStatus.BROKEN:
        return promise.made_at
    return promise.ended_at or now


def _undoes_agreement(runtime: Runtime, promise: Promise) -> bool:
    """Check whether a promise was broken whose discussion had counted as a success."""
    if promise.status is not PromiseStatus.BROKEN:
        return False
    with suppress(NotFound):
        return was_discussion_agreed(runtime.home.sessions.get(promise.session_id))
    return False


def _judge(runtime: Runtime, promise: Promise, now: datetime) -> Promise:
    """Return an open promise as kept or broken, or as it is while that is undecided."""
    fact = runtime.home.facts.get(promise.agent_id, GOAL, goal_document_id(promise.goal_id))
    goal = None if fact is None else fact.read(Goal)
    if now < promise.due and goal is not None and not goal.status.is_end:
        return promise
    evidence = _evidence(runtime, promise, goal)
    if evidence:
        return promise.replaced(status=PromiseStatus.KEPT, evidence=evidence, ended_at=now)
    if now < promise.due:
        return promise
    if not _could_act(runtime, promise.agent_id):
        reason = "the agent has retired or is frozen"
        return promise.replaced(status=PromiseStatus.WITHDRAWN, reason=reason, ended_at=now)
    state = f"{promise.goal_id} {'—' if goal is None else goal.status.value}"
    missing = _first_unmet(runtime, promise) if _checks(promise) else None
    told = tuple(filter(None, (state, missing)))
    return promise.replaced(status=PromiseStatus.BROKEN, evidence=told, ended_at=now)


def _evidence(runtime: Runtime, promise: Promise, goal: Goal | None) -> tuple[str, ...]:
    """Return what proves that a promise was kept in time; () if nothing does.

    A condition that code checks decides alone; else it is a deed for the goal, which is completed.
    """
    in_time = is_goal_done_in_time(promise, goal)
    if _checks(promise) and not promise.vacuous:
        late = goal is not None and goal.ended_at is not None and goal.ended_at > promise.due
        held = not late and _first_unmet(runtime, promise) is None
        return (one_line(promise.done_when, _PIECE),) if held else ()
    if goal is None or not in_time:
        return ()
    receipts = (*goal.receipts, *(each for task in goal.tasks for each in task.receipts))
    deeds = [each for each in receipts if _is_deed(runtime, each)]
    shown = [f"{each.action} {each.path or ''} {each.turn_id}" for each in deeds]
    return tuple(dict.fromkeys(one_line(each, _PIECE) for each in shown))[:_EVIDENCE]


def _is_deed(runtime: Runtime, receipt: ActionReceipt) -> bool:
    """Check whether an action did something: to read or to ask another agent is no deed."""
    if receipt.action in _ASKING:
        return False
    action = runtime.actions.find(receipt.action)
    return action is None or action.effect is not Effect.PURE


def _checks(promise: Promise) -> bool:
    """Check whether a promise has a condition that code can check."""
    try:
        return bool(parse_goal_conditions(promise.done_when))
    except Invalid:
        return False


def _first_unmet(runtime: Runtime, promise: Promise) -> str | None:
    files = runtime.home.files

    def has_file(path: str) -> bool:
        try:
            return files.info(promise.agent_id, path) is not None
        except Invalid:
            return False

    return first_unmet_goal_condition(promise.done_when, has_file, lambda _task: False)


def _could_act(runtime: Runtime, agent_id: str) -> bool:
    """Check whether an agent exists, has not retired, and is not frozen."""
    try:
        agent = runtime.home.agents.get(agent_id).agent
    except NotFound:
        return False
    frozen = map(runtime.home.switches.is_frozen, (INSTALLATION, agent_id))
    return agent.answers and not any(frozen)


def _board_change(
    runtime: Runtime, agent_id: str, promise: Promise, names: Iterable[str]
) -> tuple[Document, ...]:
    """Return the write of an agent's board with a promise as it is now."""
    stored = runtime.home.facts.get(agent_id, PROMISE_BOARD, PROMISE_BOARD)
    before = PromiseBoard() if stored is None else stored.read(PromiseBoard)
    own = agent_id == promise.agent_id
    after = before.with_promise(brief_goal_promise(promise, names), own=own)
    if after == before:
        return ()
    if stored is None:
        return (new_fact(agent_id, PROMISE_BOARD, PROMISE_BOARD, after),)
    return (stored.with_body(after),)


def _names(runtime: Runtime, agent_ids: Iterable[str]) -> tuple[str, ...]:
    found = []
    for agent_id in agent_ids:
        with suppress(NotFound):
            found.append(runtime.home.agents.get(agent_id).agent.name)
    return tuple(found)
