"""Act: run one call the way its effect class demands, or say why not."""

import json
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from opencrab.domain.action import (
    ActionResult,
    DeclaredDone,
    Effect,
    Mused,
    Spoke,
    needs_approval,
)
from opencrab.domain.authority import may
from opencrab.domain.errors import Unavailable
from opencrab.domain.line import Audience, Line, LineKind
from opencrab.domain.record import (
    ActionIntent,
    ApprovalRequest,
    Call,
    CallResult,
    CallState,
    ModelIntent,
)
from opencrab.domain.turn import TurnStatus
from opencrab.domain.utterance import Utterance
from opencrab.engine.close import close, shortened
from opencrab.engine.phrases import phrase
from opencrab.engine.usage import unknown
from opencrab.engine.work import Work
from opencrab.ports.action import Action, ActionContext

_LINE_ARGUMENTS = 1_000
_LINE_RESULT = 2_000


@dataclass(frozen=True)
class _Ready:
    """A call that may run: its action and its checked arguments."""

    call: Call
    action: Action
    arguments: BaseModel


def act(work: Work, call: Call) -> None:
    """Run the next call of the step, wait for its approval, or record why it does not run.

    Raises Stopped when the turn was asked to stop before the call.
    """
    ready = _checked(work, call)
    if isinstance(ready, CallResult):
        work.carry(ready, _action_line(work, call, ready))
        return
    action = ready.action
    if needs_approval(action.impact, work.profile.agent.policy, tainted=work.turn.taint):
        approved = work.transcript.approves(call)
        if approved is None:
            _wait(work, ready)
            return
        if not approved:
            _reject(work, ready)
            return
    if action.effect in {Effect.KEYED, Effect.ONCE}:
        try:
            prepared = _prepare(work, ready)
        except Unavailable as error:
            refused = _refusal(work, call, error.message)
            work.carry(refused, _action_line(work, call, refused))
            return
        intent = ActionIntent(
            n=work.next_n,
            call_id=call.id,
            name=call.name,
            effect=action.effect,
            argument_hash=call.argument_hash,
            prepared=prepared,
        )
        work.save(work.turn, intent, unless_stopped=True)
        _finish(work, ready, intent.n, _run(work, ready, prepared))
    else:
        _finish(work, ready, work.next_n, _run(work, ready, {}))


def recover(work: Work) -> None:
    """Settle the intent that a dead worker left open.

    A keyed action runs again under its old condition; everything else ends as unknown.
    """
    intent, call = work.transcript.open_intent, work.transcript.pending
    if isinstance(intent, ActionIntent) and intent.effect is Effect.KEYED and call is not None:
        ready = _checked(work, call)
        if isinstance(ready, _Ready):
            _finish(work, ready, intent.n, _run(work, ready, intent.prepared))
            return
    settle_unknown(work)


def settle_unknown(work: Work, *, progress: bool = True) -> None:
    """End the open intent as unknown, without running anything again.

    A model call was perhaps billed, so its reservation is its cost; of an action the model is told
    that nobody knows, which is `progress` unless the turn is given up.
    """
    intent, call = work.transcript.open_intent, work.transcript.pending
    if isinstance(intent, ModelIntent):
        turn = work.turn.settled(reserved=intent.reserved, cost=intent.reserved)
        work.save(turn, unknown(intent))
    elif isinstance(intent, ActionIntent) and call is not None:
        failed = ActionResult.failed(
            "outcome unknown: the worker ended while this ran; check before you do it again"
        )
        record = _record(call, intent.n, CallState.UNKNOWN, failed)
        work.save(work.turn, record, lines=(_action_line(work, call, record),), progress=progress)


def _checked(work: Work, call: Call) -> _Ready | CallResult:
    """The call as something that can run, or the result that tells the model why it cannot."""
    agent, routing = work.profile.agent, work.runtime.models.routing
    action = work.runtime.actions.find(call.name)
    if action is None or not action.offered(agent, routing):
        schemas = work.runtime.actions.schemas(agent, routing)
        names = ", ".join(schema.name for schema in schemas)
        return _refusal(work, call, f"unknown action {call.name!r}; there are: {names}")
    if call.arguments is None:
        return _refusal(work, call, "the arguments are not a JSON object; send them again")
    if not may(work.turn.authority, action.impact):
        return _refusal(
            work,
            call,
            f"{call.name} is not allowed on behalf of {work.turn.authority.value!r}",
            CallState.REFUSED,
        )
    try:
        return _Ready(call, action, action.arguments.model_validate(call.arguments))
    except ValidationError as error:
        return _refusal(work, call, _explained(error))


def _explained(error: ValidationError) -> str:
    problems = (
        f"{'.'.join(map(str, item['loc'])) or 'arguments'}: {item['msg']}"
        for item in error.errors(include_url=False, include_input=False, include_context=False)[:5]
    )
    return f"invalid arguments: {'; '.join(problems)}"


def _refusal(work: Work, call: Call, error: str, state: CallState = CallState.FAILED) -> CallResult:
    return _record(call, work.next_n, state, ActionResult.failed(error))


def _record(
    call: Call, n: int, state: CallState, result: ActionResult, *, ends_turn: bool = False
) -> CallResult:
    return CallResult(
        n=n, call_id=call.id, name=call.name, state=state, result=result, ends_turn=ends_turn
    )


def _context(work: Work, call: Call, prepared: dict[str, Any]) -> ActionContext:
    return ActionContext(
        agent=work.profile.agent,
        session=work.session,
        turn_id=work.turn.id,
        key=f"{work.turn.id}-{call.id}",
        files=work.runtime.home.files,
        clock=work.runtime.clock,
        models=work.runtime.models,
        agents=work.runtime.home.agents,
        basis=work.basis,
        choices=tuple(work.transcript.choices),
        prepared=prepared,
    )


def _prepare(work: Work, ready: _Ready) -> dict[str, Any]:
    prepare = ready.action.prepare
    return {} if prepare is None else prepare(ready.arguments, _context(work, ready.call, {}))


def _run(work: Work, ready: _Ready, prepared: dict[str, Any]) -> tuple[CallState, ActionResult]:
    try:
        result = ready.action.run(ready.arguments, _context(work, ready.call, prepared))
    except Unavailable as error:
        # A keyed one too: the store may have done it, now or for a worker that was here before.
        if ready.action.effect in {Effect.KEYED, Effect.ONCE}:
            return CallState.UNKNOWN, ActionResult.failed(f"outcome unknown: {error.message}")
        return CallState.FAILED, ActionResult.failed(error.message)
    return (CallState.COMPLETED if result.success else CallState.FAILED), result


def _finish(work: Work, ready: _Ready, n: int, outcome: tuple[CallState, ActionResult]) -> None:
    """Save a result with everything that it makes: lines, utterances, the end of the turn."""
    state, result = outcome
    call, action = ready.call, ready.action
    ends = result.success and action.ends_turn(ready.arguments)
    record = _record(call, n, state, result, ends_turn=ends)
    if action.effect is Effect.PURE:
        work.carry(record, _action_line(work, call, record))
        return
    work.save(
        work.turn,
        record,
        lines=_lines(work, call, record),
        utterances=_utterances(work, result),
        unless_stopped=action.effect is Effect.TRANSACTIONAL,
        progress=True,
    )
    if any(isinstance(effect, DeclaredDone) for effect in result.side_effects):
        work.declared_done = True


def _wait(work: Work, ready: _Ready) -> None:
    """Ask a human; the calls after this one do not run, and the turn costs nothing meanwhile."""
    call, action = ready.call, ready.action
    what = f"{call.name} {_short(call.arguments, 200)}"
    touches = action.touches(ready.arguments) if action.touches else action.impact.value
    step = work.transcript.steps[-1]
    later = step.answer.calls[step.answer.calls.index(call) + 1 :]
    for other in (other for other in later if other.id not in step.results):
        result = ActionResult.failed("not run: an earlier call of this step waits for approval")
        work.carry(_record(other, work.next_n, CallState.CANCELLED, result))
    request = ApprovalRequest(
        n=work.next_n,
        call_id=call.id,
        name=call.name,
        argument_hash=call.argument_hash,
        what=what,
        touches=touches,
    )
    text = phrase("waiting", work.profile.agent.language, what=what, touches=touches)
    work.save(
        work.turn.replaced(status=TurnStatus.WAITING),
        request,
        lines=(work.line(LineKind.APPROVAL, text, data={"call_id": call.id}),),
        unless_stopped=True,
        progress=True,
    )


def _reject(work: Work, ready: _Ready) -> None:
    call = ready.call
    result = ActionResult.failed("not approved by a human; the turn ends here")
    record = _record(call, work.next_n, CallState.REFUSED, result)
    what = f"{call.name} {_short(call.arguments, 200)}"
    notice = phrase("rejected", work.profile.agent.language, what=what)
    close(work, TurnStatus.STOPPED, record, notice=notice)


def _lines(work: Work, call: Call, record: CallResult) -> tuple[Line, ...]:
    """Speech and musing are lines of their own; every other call is an action line."""
    effects = record.result.side_effects
    lines = [
        work.line(LineKind.SPEECH, shortened(effect.text))
        for effect in effects
        if isinstance(effect, Spoke)
    ]
    lines += [
        work.line(LineKind.INNER_VOICE, shortened(effect.text), audience=Audience.SELF)
        for effect in effects
        if isinstance(effect, Mused)
    ]
    return tuple(lines) or (_action_line(work, call, record),)


def _utterances(work: Work, result: ActionResult) -> tuple[Utterance, ...]:
    made: list[Utterance] = []
    for effect in result.side_effects:
        if isinstance(effect, Spoke):
            ordinal = work.transcript.speeches + len(made)
            made.extend(work.utterance(shortened(effect.text), ordinal))
    return tuple(made)


def _action_line(work: Work, call: Call, record: CallResult) -> Line:
    result = record.result
    outcome = result.data if result.success else {"error": result.error}
    return work.line(
        LineKind.ACTION,
        f"{call.name} {record.state.value}",
        audience=Audience.SELF,
        data={
            "name": call.name,
            "arguments": _short(call.arguments, _LINE_ARGUMENTS),
            "result": _short(outcome, _LINE_RESULT),
            "state": record.state.value,
        },
    )


def _short(value: object, limit: int) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= limit else f"{text[:limit]}…"
