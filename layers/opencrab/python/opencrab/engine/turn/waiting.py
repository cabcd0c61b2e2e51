"""Waiting: a turn that needs something from outside asks for it once, and costs nothing meanwhile.

It waits for a person's decision, or for the result of a call that somebody outside runs. Both are a
request in its journal and a decision about it (ADR 0071), so that a worker's death, a stop and the
end of the wait are one thing for both. What is the capability's own it writes as a consequence.

A line of the session names a call that needs approval only; a channel gets the question with all
that may be shown.
"""

from collections.abc import Callable
from dataclasses import replace

from opencrab.domain.conversation.message import Line, LineKind, Utterance
from opencrab.domain.memory.clearance import NOTHING_WITHHELD
from opencrab.domain.turn.action import ActionResult
from opencrab.domain.turn.record import ActionCall, ApprovalRequest, CallState
from opencrab.domain.turn.turn import TurnStatus
from opencrab.engine.approvals import approvals
from opencrab.engine.approvals.call_card import (
    approval_question_for_channel,
    call_card_for_approval,
)
from opencrab.engine.consequence import ExtraWrites, OutsideAnswer
from opencrab.engine.phrases import system_phrase
from opencrab.engine.turn.call import (
    ReadyCall,
    call_result,
    check_turn_call,
    context_of_turn_call,
    is_turn_call_awaiting_answer,
    public_name_of_turn_call,
)
from opencrab.engine.turn.close import close_narrowed_turn, close_turn
from opencrab.engine.turn.large_result import spill_large_turn_result
from opencrab.engine.turn.work import ASKING, TurnWork
from opencrab.ports.turn.action import one_line

Finish = Callable[[TurnWork, ReadyCall, int, tuple[CallState, ActionResult]], None]
"""Saves a call's result."""

_REASON = 300


def let_turn_wait_for_decision(work: TurnWork, ready: ReadyCall) -> None:
    """Request an approval and let the turn wait; later calls of the step are cancelled.

    A turn whose approval a human has refused ends.
    """
    call = ready.call
    if work.transcript.human_decision(call) is False:
        _stop_as_rejected(work, ready)
        return
    if is_turn_call_awaiting_answer(work, call):
        _wait_again(work)
        return
    step = work.transcript.steps[-1]
    later = step.answer.calls[step.answer.calls.index(call) + 1 :]
    for other in (other for other in later if other.id not in step.results):
        result = ActionResult.failure("not run: an earlier call of this step waits for approval")
        work.carry(call_result(work, other, CallState.CANCELLED, result))
    request = _request(work, ready)
    text = system_phrase(
        "waiting", work.profile.agent.language, what=public_name_of_turn_call(ready)
    )
    opened = approvals.open_approval(
        work.turn, work.profile.agent, request, ready.impact, work.runtime.clock.now()
    )
    for on_wait in work.hooks.on_wait:
        on_wait(work, opened)
    _wait(
        work,
        request,
        ExtraWrites(facts=(opened,)),
        lines=(
            work.line(LineKind.APPROVAL, text, data={"call_id": call.id, "approval_id": opened.id}),
        ),
        utterances=work.utterance(
            _channel_text(work, ready, opened.id), ASKING + request.n, approval=opened.id
        ),
    )


def _stop_as_rejected(work: TurnWork, ready: ReadyCall) -> None:
    result = ActionResult.failure("not approved by a human; the turn ends here")
    record = call_result(work, ready.call, CallState.REFUSED, result)
    notice = system_phrase(
        "rejected", work.profile.agent.language, what=public_name_of_turn_call(ready)
    )
    if work.transcript.decision is not None and work.transcript.decision.reason:
        notice += f" / {one_line(work.transcript.decision.reason, _REASON)}"
    close_turn(work, TurnStatus.STOPPED, record, notice=notice)


def wait_for_turn_call_run_outside(work: TurnWork, ready: ReadyCall, finish: Finish) -> None:
    """Finish a call that somebody outside runs with the result that came, or wait for that.

    The turn ends if none will come any more. Results are words from outside and taint the turn.
    """
    came = _outside_answer(work, ready.call)
    if came is None:
        _ask_outside(work, ready)
    elif came.result is None:
        _wait_again(work)
    elif came.notice:
        record = call_result(work, ready.call, CallState.CANCELLED, came.result)
        close_turn(work, TurnStatus.STOPPED, record, notice=came.notice)
    else:
        result = spill_large_turn_result(work, ready, came.result.replaced(taint=True))
        finish(work, ready, work.next_n, (CallState.COMPLETED, result))


def _outside_answer(work: TurnWork, call: ActionCall) -> OutsideAnswer | None:
    """Return what has come of a call, from the first consequence that asked for it."""
    if work.transcript.approval is None:
        return None
    answers = (outside_answer(work, call) for outside_answer in work.hooks.outside_answer)
    return next((came for came in answers if came is not None), None)


def _ask_outside(work: TurnWork, ready: ReadyCall) -> None:
    """Ask for a call and those that may be run with it, and let the turn wait."""
    if work.narrowed:
        close_narrowed_turn(work)
        return
    request, calls = _request(work, ready), (ready.call, *_calls_behind(work, ready))
    asked = (on_ask(work, request, calls) for on_ask in work.hooks.on_ask_outside)
    writes = next((each for each in asked if each is not None), None)
    # Whoever offered the action answers for it.
    assert writes is not None, ready.action.name  # noqa: S101  - a defect of ours
    _wait(work, request, ExtraWrites(facts=writes.facts, due=writes.due))


def _calls_behind(work: TurnWork, ready: ReadyCall) -> tuple[ActionCall, ...]:
    """Return the calls that follow one at once and are run outside as well, by the same people."""
    step, found = work.transcript.steps[-1], list[ActionCall]()
    for other in step.answer.calls[step.answer.calls.index(ready.call) + 1 :]:
        behind = check_turn_call(work, other)
        if not isinstance(behind, ReadyCall) or not behind.action.outside:
            break
        if behind.action.group != ready.action.group:
            break
        found.append(other)
    return tuple(found)


def _request(work: TurnWork, ready: ReadyCall) -> ApprovalRequest:
    return ApprovalRequest(
        n=work.next_n,
        call_id=ready.call.id,
        name=ready.action.name,
        argument_hash=ready.call.argument_hash,
        what=ready.what,
        touches=ready.touches,
        targets=ready.bound_targets,
        at=work.runtime.clock.now(),
    )


def _wait(
    work: TurnWork,
    request: ApprovalRequest,
    beside: ExtraWrites,
    *,
    lines: tuple[Line, ...] = (),
    utterances: tuple[Utterance, ...] = (),
) -> None:
    """Save what the turn asks for and that it waits, in one change."""
    work.save(
        work.turn.replaced(status=TurnStatus.WAITING),
        request,
        lines=lines,
        utterances=utterances,
        beside=beside,
        unless_stopped=True,
        progress=True,
    )


def _wait_again(work: TurnWork) -> None:
    """Wait for what was asked for already: a worker runs the turn before the answer has come."""
    waiting = work.turn.replaced(status=TurnStatus.WAITING)
    work.save(waiting, unless_stopped=True, progress=True)


def _channel_text(work: TurnWork, ready: ReadyCall, approval_id: str) -> str:
    """Return the question for a channel: with every byte of the call, or with no way to agree."""
    if work.turn.channel is None:
        return ""
    language = work.profile.agent.language
    text = system_phrase("question", language, what=ready.what, touches=ready.touches)
    # Whoever decides is told what the call replaces, whatever the turn itself may read.
    own = context_of_turn_call(work, ready.call, {}, ready.targets)
    whole = replace(own, reach=work.runtime.reach, clearance=NOTHING_WITHHELD)
    card = call_card_for_approval(ready.call, ready.action, whole)
    return approval_question_for_channel(card, text, approval_id, language)
