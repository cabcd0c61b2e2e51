"""What follows when a turn about an outcome or a promise has ended: the next step is due."""

from opencrab.domain.discussion.outcome import (
    DISCUSSION_OUTCOME,
    DiscussionOutcome,
    OutcomeState,
    is_discussion_outcome_turn,
    is_discussion_task_answer_turn,
)
from opencrab.domain.document import INSTALLATION_FACTS, Document, new_fact
from opencrab.domain.errors import NotFound
from opencrab.domain.goals.goal import GOAL, Goal
from opencrab.domain.goals.promise import PROMISE, Promise, goal_promises_due_item, is_goal_promised
from opencrab.domain.turn.due_item import DueItem
from opencrab.domain.turn.record import action_name_of_turn_call
from opencrab.domain.turn.turn import Turn
from opencrab.engine.consequence import FollowUp, TurnEnding
from opencrab.engine.discussion.outcome import discussion_outcome_text, stored_discussion_outcome
from opencrab.engine.discussion.promises import discussion_promise_holds_already
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.observe import may_turn_channel_hear_everything
from opencrab.engine.turn.work import TurnWork
from opencrab.ports.texts import Texts

_TEXTS = Texts(__file__)
_AT_ONCE = 2
"""The most promises that one turn has judged belatedly: its end has room for few items."""


def follow_up_discussion_promises(work: TurnWork, ending: TurnEnding) -> FollowUp:
    """Return what follows from a turn for the outcome of its discussion, and for promises."""
    if is_discussion_outcome_turn(work.turn):
        return _follow_up_outcome_turn(work, ending)
    if is_discussion_task_answer_turn(work.turn):
        return _follow_up_task_answers(work)
    due = (
        *_due_items_of_ended_promises(work, ending.facts),
        *_due_items_of_withdrawals(work),
        *_due_items_of_unsettled_promises(work),
    )
    return FollowUp(due=due)


def follow_up_abandoned_discussion(runtime: Runtime, turn: Turn) -> FollowUp:
    """Return the write that there is no outcome, if the turn that should write it is given up."""
    if not is_discussion_outcome_turn(turn):
        return FollowUp()
    try:
        return FollowUp(facts=_unwritten_outcome_change(runtime, turn, "failed"))
    except NotFound:
        return FollowUp()


def _follow_up_outcome_turn(work: TurnWork, ending: TurnEnding) -> FollowUp:
    """Go on with the outcome, and tell the owner of it; without one, say so."""
    runtime, turn, language = work.runtime, work.turn, work.profile.agent.language
    stored = stored_discussion_outcome(runtime, turn.session_id)
    outcome = None if stored is None else stored.read(DiscussionOutcome)
    if outcome is None or outcome.state is not OutcomeState.WRITTEN:
        facts = _unwritten_outcome_change(runtime, turn, ending.status.value)
        return FollowUp(facts=facts, session_notice=_TEXTS["unknown"][language])
    told = ""
    channel = work.profile.agent.heartbeat.channel
    if channel is not None and channel != turn.channel:
        told = _TEXTS["written"][language].format(id=turn.session_id)
        if may_turn_channel_hear_everything(runtime, turn, work.profile.agent, channel):
            told = discussion_outcome_text(work.session, outcome, language)
    item = goal_promises_due_item(turn.session_id, "outcome", runtime.clock.now())
    return FollowUp(due=(item,), owner_question=told)


def _unwritten_outcome_change(runtime: Runtime, turn: Turn, why: str) -> tuple[Document, ...]:
    """Return the write that says that there is no outcome, unless it is written or said."""
    stored = stored_discussion_outcome(runtime, turn.session_id)
    if stored is not None:
        outcome = stored.read(DiscussionOutcome)
        if outcome.state is not OutcomeState.ASKED:
            return ()
        return (stored.with_body(outcome.replaced(state=OutcomeState.UNKNOWN, why=why)),)
    session = runtime.home.sessions.get(turn.session_id)
    if session.ended_by is None:
        return ()
    outcome = DiscussionOutcome(
        session_id=turn.session_id,
        ended_by=session.ended_by,
        agent_ids=session.agent_ids,
        state=OutcomeState.UNKNOWN,
        why=why,
        writer_id=turn.agent_id,
        at=runtime.clock.now(),
    )
    return (new_fact(INSTALLATION_FACTS, DISCUSSION_OUTCOME, turn.session_id, outcome),)


def _follow_up_task_answers(work: TurnWork) -> FollowUp:
    """Go on with the promises that an agent made, and note which tasks it did not answer."""
    runtime, turn, facts = work.runtime, work.turn, list[Document]()
    stored = stored_discussion_outcome(runtime, turn.session_id)
    if stored is not None:
        before = stored.read(DiscussionOutcome)
        after = before.without_answer({turn.agent_id})
        if after != before:
            facts.append(stored.with_body(after))
    for promise_id in _results(work, "answer_task", "promise_id"):
        made = runtime.home.facts.get(turn.agent_id, PROMISE, promise_id)
        promise = None if made is None else made.read(Promise)
        # Nobody works on it before this turn has ended: what holds now is not its doing.
        if (
            made is not None
            and promise is not None
            and discussion_promise_holds_already(runtime, promise)
        ):
            facts.append(made.with_body(promise.replaced(vacuous=True)))
    item = goal_promises_due_item(turn.session_id, f"tasks-{turn.agent_id}", runtime.clock.now())
    return FollowUp(facts=tuple(facts), due=(item,))


def _due_items_of_ended_promises(work: TurnWork, facts: tuple[Document, ...]) -> list[DueItem]:
    """Return the due items that judge promises whose goals end with this turn."""
    found, now = [], work.runtime.clock.now()
    for fact in facts:
        goal = fact.read(Goal) if fact.kind == GOAL and fact.body else None
        if goal is None or not goal.status.is_end or not is_goal_promised(goal):
            continue
        stored = work.runtime.home.facts.get(goal.agent_id, PROMISE, goal.session_id)
        if stored is not None:
            promise = stored.read(Promise)
            found.append(goal_promises_due_item(promise.session_id, f"ended-{promise.id}", now))
    return found


def _due_items_of_withdrawals(work: TurnWork) -> list[DueItem]:
    now = work.runtime.clock.now()
    return [
        goal_promises_due_item(session_id, f"gone-{work.turn.id}", now)
        for session_id in dict.fromkeys(_results(work, "withdraw_promise", "session_id"))
    ]


def _due_items_of_unsettled_promises(work: TurnWork) -> list[DueItem]:
    """Return due items for promises that nobody judged; the release before drops theirs."""
    now, around = work.runtime.clock.now(), work.prompt.around
    board = None if around is None else around.promises
    late = () if board is None else board.unsettled(now)[:_AT_ONCE]
    return [goal_promises_due_item(each.session_id, f"late-{each.id}", now) for each in late]


def _results(work: TurnWork, action: str, name: str) -> list[str]:
    """Return one value of the results of all calls of an action that succeeded."""
    return [
        str(result.data[name])
        for call, result in work.transcript.ended_calls
        if action_name_of_turn_call(call) == action
        and result.success
        and result.data
        and result.data.get(name)
    ]
