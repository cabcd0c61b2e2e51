"""Ask: request a human's approval of a tool call, and compare an approval with the call.

A line of the session names the call only; a channel gets the question with all that may be shown.
"""

from dataclasses import replace

from opencrab.domain.approvals.call_text import name_of_call
from opencrab.domain.conversation.message import LineKind
from opencrab.domain.memory.clearance import NOTHING_WITHHELD
from opencrab.domain.turn.action import ActionResult
from opencrab.domain.turn.record import ActionCall, ApprovalRequest, CallState
from opencrab.domain.turn.turn import TurnStatus
from opencrab.engine.approvals import approvals
from opencrab.engine.approvals.call_card import call_card, channel_question
from opencrab.engine.consequence import ExtraWrites
from opencrab.engine.phrases import system_phrase
from opencrab.engine.turn.call import ReadyCall, action_context_of_call, call_result
from opencrab.engine.turn.work import ASKING, TurnWork


def was_asked(work: TurnWork, call: ActionCall) -> bool:
    """Check whether a human was asked about this call and has not answered yet."""
    asked = work.transcript.approval
    return asked is not None and asked.call_id == call.id and work.transcript.decision is None


def is_bound_to(work: TurnWork, ready: ReadyCall) -> bool:
    """Check whether the approval of a call showed the same files as it would touch now."""
    asked = work.transcript.approval
    return asked is not None and asked.targets == ready.bound_targets


def wait_for_approval(work: TurnWork, ready: ReadyCall) -> None:
    """Request an approval and let the turn wait; later calls of the step are cancelled.

    A waiting turn costs nothing.
    """
    call = ready.call
    waiting = work.turn.replaced(status=TurnStatus.WAITING)
    # The request was saved before a worker died: the human is not asked a second time.
    if was_asked(work, call):
        work.save(waiting, unless_stopped=True, progress=True)
        return
    step = work.transcript.steps[-1]
    later = step.answer.calls[step.answer.calls.index(call) + 1 :]
    for other in (other for other in later if other.id not in step.results):
        result = ActionResult.failure("not run: an earlier call of this step waits for approval")
        work.carry(call_result(work, other, CallState.CANCELLED, result))
    request = ApprovalRequest(
        n=work.next_n,
        call_id=call.id,
        name=ready.action.name,
        argument_hash=call.argument_hash,
        what=ready.what,
        touches=ready.touches,
        targets=ready.bound_targets,
        at=work.runtime.clock.now(),
    )
    text = system_phrase("waiting", work.profile.agent.language, what=name_for_all(ready))
    opened = approvals.open_approval(
        work.turn, work.profile.agent, request, ready.impact, work.runtime.clock.now()
    )
    work.save(
        waiting,
        request,
        lines=(
            work.line(LineKind.APPROVAL, text, data={"call_id": call.id, "approval_id": opened.id}),
        ),
        utterances=work.utterance(
            _channel_text(work, ready, opened.id), ASKING + request.n, approval=opened.id
        ),
        beside=ExtraWrites(facts=(opened,)),
        unless_stopped=True,
        progress=True,
    )


def _channel_text(work: TurnWork, ready: ReadyCall, approval_id: str) -> str:
    """Return the question for a channel: with every byte of the call, or with no way to agree."""
    if work.turn.channel is None:
        return ""
    language = work.profile.agent.language
    text = system_phrase("question", language, what=ready.what, touches=ready.touches)
    # Whoever decides is told what the call replaces, whatever the turn itself may read.
    own = action_context_of_call(work, ready.call, {}, ready.targets)
    whole = replace(own, reach=work.runtime.reach, clearance=NOTHING_WITHHELD)
    card = call_card(ready.call, ready.action, whole)
    return channel_question(card, text, approval_id, language)


def name_for_all(ready: ReadyCall) -> str:
    """Return what a line says of a call: not all who read the session may see its arguments."""
    return name_of_call(ready.action.name, ready.impact.value)
