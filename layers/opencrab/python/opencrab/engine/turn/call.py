"""Calls: the checks before a tool call runs, and the record of its result."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, ValidationError

from opencrab.domain.access.authority import authority_permits
from opencrab.domain.access.impact import Impact
from opencrab.domain.approvals.call_text import name_of_call_for_approval
from opencrab.domain.errors import Invalid, OpenCrabError
from opencrab.domain.identifier import content_hash
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.turn.record import (
    OUTSIDE_PREFIX,
    ActionCall,
    CallResult,
    CallState,
    action_name_of_turn_call,
    arguments_of_turn_call,
)
from opencrab.domain.value import Language
from opencrab.engine.turn.cleared_files import turn_action_reach
from opencrab.engine.turn.receipt import receipts_of_turn
from opencrab.engine.turn.work import TurnWork
from opencrab.ports.turn.action import (
    FAILURE,
    Action,
    ActionContext,
    one_line,
    one_visible_line,
    turn_call_error_sentence,
)

REPEATS = 3
"""The number of equal calls with equal results after which one more is refused."""

TOUCHES = 200
TARGETS = 4_000
"""Most characters of the line that shows resolved paths: all of them, whole."""

_WEIGHTS = tuple(Impact)
_NAMES = 60


@dataclass(frozen=True)
class ReadyCall:
    """A call that may run: its action, its checked arguments, and what it touches.

    `what` and `touches` are the two lines that a human would be asked with. `targets` are the
    workspace paths that it names, resolved once before it is ruled on; None before that, and for
    actions without.
    """

    call: ActionCall
    action: Action
    arguments: BaseModel
    impact: Impact
    what: str
    touches: str
    targets: tuple[str, ...] | None = None

    @property
    def bound_targets(self) -> tuple[str, ...]:
        """The targets that an approval is bound to beside the arguments, which do not name them."""
        return () if self.action.touches is not None else self.targets or ()

    @property
    def granted_targets(self) -> tuple[str, ...]:
        """What a grant is compared with: the resolved paths, else the action's own line."""
        if self.targets:
            return self.targets
        return (self.action.touches(self.arguments),) if self.action.touches else ()


def context_of_turn_call(
    work: TurnWork,
    call: ActionCall,
    prepared: Mapping[str, Any],
    targets: tuple[str, ...] | None = None,
    *,
    repeats: bool = False,
) -> ActionContext:
    """Return what the call's action may read and use; `repeats` if it may have run before."""
    return ActionContext(
        agent=work.profile.agent,
        session=work.session,
        turn=work.turn,
        key=f"{work.turn.id}-{call.id}",
        reach=turn_action_reach(work, repeats=repeats),
        clock=work.runtime.clock,
        actions=work.runtime.actions,
        clearance=work.clearance,
        mind=work.profile.mind,
        goal=work.served,
        receipts=receipts_of_turn(work),
        basis=work.basis,
        choices=tuple(work.transcript.choices),
        trials=work.runtime.rules.trials,
        task_type=first.task_type if (first := work.transcript.first_call) else "",
        targets=targets,
        prepared=dict(prepared),
        repeats=repeats,
    )


def check_turn_call(work: TurnWork, call: ActionCall) -> ReadyCall | CallResult:
    """Check a call: return it ready to run, or the result that tells the model why it cannot."""
    action, arguments = (
        _find_offered_action(work, action_name_of_turn_call(call)),
        arguments_of_turn_call(call),
    )
    if action is None:
        return _invalid_call_result(work, call, _unknown(work, action_name_of_turn_call(call)))
    if arguments is None:
        return _invalid_call_result(
            work, call, "the arguments are not a JSON object; send them again"
        )
    try:
        values = _validate_arguments(action, arguments)
    except Invalid as error:
        return _invalid_call_result(work, call, error.message)
    impact = action.impact
    if action.impact_of is not None:
        judged = action.impact_of(values, context_of_turn_call(work, call, {}))
        impact = max(impact, judged, key=_WEIGHTS.index)
    refused = _refusal_reason(work, call, action, impact)
    if refused is not None:
        return call_result(work, call, CallState.REFUSED, ActionResult.failure(refused))
    return ReadyCall(
        call,
        action,
        values,
        impact,
        what=describe_call(action, arguments, work.profile.agent.language),
        touches=one_visible_line(
            action.touches(values) if action.touches else impact.value, TOUCHES
        ),
    )


def resolve_turn_call_targets(work: TurnWork, ready: ReadyCall) -> ReadyCall | ActionResult:
    """Find the files that a call names, once for the ruling, the approval and the run.

    Return the result that tells the model the problem if one is missing or ambiguous.
    """
    action = ready.action
    if action.targets is None:
        return ready
    context = context_of_turn_call(work, ready.call, {})
    try:
        found = action.targets(ready.arguments, context)
    except OpenCrabError as error:
        # Its group decides whether the error shows words from outside, as for every other error.
        failing = replace(context, prepared={FAILURE: turn_call_error_sentence(error)})
        return action.run(ready.arguments, failing)
    if action.touches is not None:
        return replace(ready, targets=found)
    line = one_visible_line(", ".join(map(repr, found)), TARGETS)
    return replace(ready, targets=found, touches=line)


def is_turn_call_awaiting_answer(work: TurnWork, call: ActionCall) -> bool:
    """Check whether a human was asked about this call and has not answered yet."""
    asked = work.transcript.approval
    return asked is not None and asked.call_id == call.id and work.transcript.decision is None


def are_turn_call_files_unchanged(work: TurnWork, ready: ReadyCall) -> bool:
    """Check whether the approval of a call showed the same files as it would touch now."""
    asked = work.transcript.approval
    return asked is not None and asked.targets == ready.bound_targets


def does_turn_call_only_read(work: TurnWork, call: ActionCall) -> bool:
    """Check whether a call has no effect that a stop could refuse: nothing is saved before it."""
    action = work.runtime.actions.find(action_name_of_turn_call(call))
    return action is None or action.effect is Effect.PURE


def public_name_of_turn_call(ready: ReadyCall) -> str:
    """Return what a line says of a call: not all who read the session may see its arguments."""
    return name_of_call_for_approval(ready.action.name, ready.impact.value)


def _validate_arguments(action: Action, arguments: Mapping[str, Any]) -> BaseModel:
    size = len(json.dumps(arguments, ensure_ascii=False).encode())
    if size > action.argument_bytes:
        most = action.argument_bytes
        raise Invalid(
            f"the arguments take {size} bytes, at most {most} are allowed",
            cure="send less; write long text to a file in parts",
        )
    try:
        return action.arguments.model_validate(arguments)
    except ValidationError as error:
        raise Invalid(
            _validation_error_message(error), cure="correct these arguments and call it again"
        ) from None


def _refusal_reason(work: TurnWork, call: ActionCall, action: Action, impact: Impact) -> str | None:
    """Return why a valid call may not run: authority or repetition; None if it may."""
    if not authority_permits(work.turn.authority, impact, for_peers=action.for_peers):
        return f"{action.name} is not allowed on behalf of {work.turn.authority.value!r}"
    if _repeats(work, call):
        return (
            f"{action.name} was called {REPEATS} times with the same arguments and the same "
            "result: use that result, change the arguments, or do something else"
        )
    return None


def describe_call(action: Action, arguments: Mapping[str, Any], language: Language) -> str:
    """Return one line for people: what the call does, and the action's name."""
    return f"{action.sentence(arguments, language)} ({action.name})"


def call_result(
    work: TurnWork,
    call: ActionCall,
    state: CallState,
    result: ActionResult,
    *,
    n: int | None = None,
) -> CallResult:
    """Return the record of a call's end; `n` is its intent's number, None takes the next one."""
    return CallResult(
        n=work.next_n if n is None else n,
        call_id=call.id,
        name=call.name,
        state=state,
        result=result,
        at=work.runtime.clock.now(),
    )


def _invalid_call_result(work: TurnWork, call: ActionCall, error: str) -> CallResult:
    """Return the record of an invalid call: unknown action, or arguments that do not fit."""
    record = call_result(work, call, CallState.FAILED, ActionResult.failure(error))
    return record.replaced(invalid=True)


def _find_turn_action(work: TurnWork, name: str) -> Action | None:
    """Return one of the turn's own actions by name; models also leave out how the name begins."""
    found = {action.name: action for action in work.prompt.turn_actions}
    # One may go on as it begins, client__client__x: the action of this very name is meant first.
    return found.get(name) or found.get(f"{OUTSIDE_PREFIX}{name}")


def _find_offered_action(work: TurnWork, name: str) -> Action | None:
    action = work.runtime.actions.find(name)
    if action is None:
        return _find_turn_action(work, name)
    routing = work.runtime.models.routing
    return action if action.offered(work.profile.agent, routing) else None


def _unknown(work: TurnWork, name: str) -> str:
    agent, routing = work.profile.agent, work.runtime.models.routing
    allowed = work.runtime.actions.allowed(agent, routing, work.turn.authority)
    names = ", ".join(action.name for action in allowed[:_NAMES])
    return f"unknown action {one_line(name)!r}; there are: {names}"


def _validation_error_message(error: ValidationError) -> str:
    problems = (
        f"{'.'.join(map(str, item['loc'])) or 'arguments'}: {item['msg']}"
        for item in error.errors(include_url=False, include_input=False, include_context=False)[:5]
    )
    return f"invalid arguments: {'; '.join(problems)}"


def _repeats(work: TurnWork, call: ActionCall) -> bool:
    """Check whether the same call had the same result the last REPEATS times."""
    before = [_outcome(result) for result in _same(work, call)][-REPEATS:]
    return len(before) == REPEATS and len(set(before)) == 1


def _same(work: TurnWork, call: ActionCall) -> Iterator[CallResult]:
    for step in work.transcript.steps:
        for other in step.answer.calls:
            result = step.results.get(other.id)
            if result is None or result.state is CallState.REFUSED:
                continue
            if other.id != call.id and _call_signature(other) == _call_signature(call):
                yield result


def _call_signature(call: ActionCall) -> tuple[str, dict[str, Any] | None, str]:
    """Return what a call asks for, the same for a direct call and one through `use_action`."""
    return action_name_of_turn_call(call), arguments_of_turn_call(call), call.raw


def _outcome(record: CallResult) -> str:
    result = record.result
    told = json.dumps([result.success, result.data, result.error], sort_keys=True)
    return content_hash(told.encode())
