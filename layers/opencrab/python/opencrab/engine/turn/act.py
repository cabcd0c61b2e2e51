"""Act: run one tool call as its effect class demands, or record why it does not run."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from opencrab.domain.access.authority import Authority
from opencrab.domain.access.impact import Impact
from opencrab.domain.conversation.message import REPLY_TO, Audience, Line, LineKind, Utterance
from opencrab.domain.document import Document
from opencrab.domain.errors import Changed, Unavailable
from opencrab.domain.turn.action import (
    ActionResult,
    Effect,
    FileWritten,
    GuidanceGiven,
    InnerVoiceNoted,
    SpeechSent,
)
from opencrab.domain.turn.record import (
    ActionCall,
    ActionIntent,
    CallResult,
    CallState,
    ModelIntent,
    ModelResult,
    action_name_of_turn_call,
    arguments_of_turn_call,
)
from opencrab.engine.approvals import approvals
from opencrab.engine.consequence import ExtraWrites
from opencrab.engine.turn.call import (
    ReadyCall,
    are_turn_call_files_unchanged,
    call_result,
    check_turn_call,
    context_of_turn_call,
    is_turn_call_awaiting_answer,
    resolve_turn_call_targets,
)
from opencrab.engine.turn.call_watch import ActionCallWatch
from opencrab.engine.turn.cleared_files import foreign_name_mark_of_turn, turn_file_labels
from opencrab.engine.turn.close import close_narrowed_turn, truncate_turn_message
from opencrab.engine.turn.large_result import spill_large_turn_result
from opencrab.engine.turn.work import TurnWork

_LINE_ARGUMENTS = 1_000
_LINE_RESULT = 2_000
_TRIES = 3
_INTENDED = {Effect.KEYED, Effect.ONCE}


def run_tool_calls_of_turn(work: TurnWork, call: ActionCall) -> None:
    """Run the next call of the step, wait for its approval, or record why it does not run.

    Raises Stopped when the turn was asked to stop before the call.
    """
    ready = check_turn_call(work, call)
    if isinstance(ready, CallResult):
        work.carry(ready, _action_line(work, call, ready))
        return
    if ready.action.outside:
        from opencrab.engine.turn.waiting import wait_for_turn_call_run_outside  # noqa: PLC0415

        wait_for_turn_call_run_outside(work, ready, _finish)
        return
    approved = work.transcript.human_decision(call)
    # None is no answer yet; words that changed after a human said yes were never approved.
    if approved is False or (approved is None and is_turn_call_awaiting_answer(work, call)):
        _wait_for_decision(work, ready)
        return
    if approved is None and work.narrowed:
        close_narrowed_turn(work)
        return
    found = resolve_turn_call_targets(work, ready)
    if isinstance(found, ActionResult):
        _finish(work, ready, work.next_n, (CallState.FAILED, found))
    else:
        _run_or_ask(work, found, approved=bool(approved))


def _run_or_ask(work: TurnWork, ready: ReadyCall, *, approved: bool) -> None:
    """Run a call that may run; else ask a human, who may have approved it for other files."""
    # A title or an alias may mean another note now than the one that the human was shown.
    asks_again = approved and not are_turn_call_files_unchanged(work, ready)
    for _ in range(_TRIES):
        ruling = _ruling(work, ready)
        if asks_again or (ruling.must_ask and not approved):
            break
        spend = () if approved or ruling.spend is None else (ruling.spend,)
        try:
            _run_permitted_call(work, ready, spend)
        except Changed:
            # Only spending the grant raises it, before the action runs: nothing runs twice.
            continue
        return
    # After so many tries others spent the grants each time: it is as if there had been none.
    _wait_for_decision(work, ready)


def _wait_for_decision(work: TurnWork, ready: ReadyCall) -> None:
    """Let the turn wait for a human, or end with the human's refusal; seldom, so it loads then."""
    from opencrab.engine.turn.waiting import let_turn_wait_for_decision  # noqa: PLC0415

    let_turn_wait_for_decision(work, ready)


def recover_open_intent_of_turn(work: TurnWork) -> None:
    """Recover the call whose intent a dead worker left open.

    Only model calls, keyed and once actions write an intent. A keyed action runs again with its
    stored precondition; the others are recorded as `unknown` and not executed twice. Pure and
    transactional calls leave no intent: they stay pending and run again.
    """
    intent, call = work.transcript.open_intent, work.transcript.pending
    # Only a keyed action can be repeated: its store compares the condition that the intent kept, so
    # the second run finds the work done and changes nothing (docs/design/journal.md).
    if isinstance(intent, ActionIntent) and intent.effect is Effect.KEYED and call is not None:
        ready = check_turn_call(work, call)
        # What was allowed to begin was this call, to the byte: no other runs in its place, nor does
        # an action whose author no longer declares it as keyed.
        is_same = call.argument_hash == intent.argument_hash
        if isinstance(ready, ReadyCall) and is_same and ready.action.effect is Effect.KEYED:
            _run_repeatable_call(work, ready, intent, repeats=True)
            return
    settle_turn_intent_as_unknown(work)


def settle_turn_intent_as_unknown(work: TurnWork, *, progress: bool = True) -> None:
    """End the open intent as unknown, without running anything again.

    A model call may have been billed, so its whole reservation is charged. For an action the model
    is told that the outcome is unknown; `progress` is false when the turn is being abandoned.
    """
    intent, call = work.transcript.open_intent, work.transcript.pending
    if isinstance(intent, ModelIntent):
        # The provider's bill may have it, and the budget must not be below the bill (ADR 0008).
        turn = work.turn.with_cost(reserved=intent.reserved, cost=intent.reserved)
        work.save(turn, ModelResult.with_unknown_outcome(intent))
    elif isinstance(intent, ActionIntent) and call is not None:
        failed = ActionResult.failure(
            "outcome unknown: the worker ended while this ran; check before you do it again"
        )
        record = call_result(work, call, CallState.UNKNOWN, failed, n=intent.n)
        work.save(work.turn, record, lines=(_action_line(work, call, record),), progress=progress)


def _ruling(work: TurnWork, ready: ReadyCall) -> approvals.ApprovalRuling:
    ruling = approvals.rule_on_approval(
        work.runtime.home.facts,
        work.profile.agent,
        ready.action.name,
        ready.impact,
        ready.granted_targets,
        tainted=work.turn.taint,
        now=work.runtime.clock.now(),
    )
    permit = ready.action.permit
    if permit is None or not ruling.must_ask or work.turn.taint:
        return ruling
    spend = permit(ready.arguments, context_of_turn_call(work, ready.call, {}, ready.targets))
    return ruling if spend is None else approvals.ApprovalRuling(must_ask=False, spend=spend)


def _run_permitted_call(work: TurnWork, ready: ReadyCall, spend: tuple[Document, ...]) -> None:
    """Run a call that needs no (further) approval, as its effect class demands.

    `spend` is the grant that it uses up, if any. Raises Changed when another worker spent it first.
    """
    effect = ready.action.effect
    # A grant is spent before anything runs and in the change that may be refused: a worker that
    # dies here has used it up for nothing, which is the cheaper of the two mistakes.
    if effect is Effect.TRANSACTIONAL:
        if spend:
            work.save(work.turn, beside=ExtraWrites(facts=spend), unless_stopped=True)
        _run_repeatable_call(work, ready)
    elif effect in _INTENDED:
        _run_with_intent(work, ready, spend)
    else:
        if spend:
            work.save(work.turn, beside=ExtraWrites(facts=spend), unless_stopped=True)
        _finish(work, ready, work.next_n, _run(work, ready, {}))


def _run_with_intent(work: TurnWork, ready: ReadyCall, spend: tuple[Document, ...]) -> None:
    """Save a keyed or once call's intent, then run the call and save its result."""
    call, action = ready.call, ready.action
    try:
        prepared = _prepare(work, ready)
    except Unavailable as error:
        refused = call_result(work, call, CallState.FAILED, ActionResult.failure(error.message))
        work.carry(refused, _action_line(work, call, refused))
        return
    intent = ActionIntent(
        n=work.next_n,
        call_id=call.id,
        name=call.name,
        effect=action.effect,
        argument_hash=call.argument_hash,
        prepared=prepared,
        at=work.runtime.clock.now(),
    )
    # From here on the world may change: what follows is one result, or unknown for good.
    work.save(work.turn, intent, beside=ExtraWrites(facts=spend), unless_stopped=True)
    if action.effect is Effect.KEYED:
        _run_repeatable_call(work, ready, intent)
    else:
        _finish(work, ready, intent.n, _run(work, ready, prepared))


def _run_repeatable_call(
    work: TurnWork, ready: ReadyCall, intent: ActionIntent | None = None, *, repeats: bool = False
) -> None:
    """Run a transactional call, or a keyed one under its intent's condition, and save its result.

    Runs it again, three times in all, when a document that it read was changed meanwhile.
    """
    n, prepared = (intent.n, intent.prepared) if intent else (work.next_n, {})
    for _ in range(_TRIES):
        try:
            _finish(work, ready, n, _run(work, ready, prepared, repeats=repeats))
        except Changed:
            continue
        return
    busy = ActionResult.failure("concurrent update: try again")
    record = call_result(work, ready.call, CallState.FAILED, busy, n=n)
    work.carry(record, _action_line(work, ready.call, record))


def _prepare(work: TurnWork, ready: ReadyCall) -> dict[str, Any]:
    prepare = ready.action.prepare
    return (
        {}
        if prepare is None
        else prepare(ready.arguments, context_of_turn_call(work, ready.call, {}, ready.targets))
    )


def _run(
    work: TurnWork, ready: ReadyCall, prepared: Mapping[str, Any], *, repeats: bool = False
) -> tuple[CallState, ActionResult]:
    context = context_of_turn_call(work, ready.call, prepared, ready.targets, repeats=repeats)
    if ready.action.watched:
        context = replace(context, watch=ActionCallWatch(work, ready.action.name))
    try:
        result = ready.action.run(ready.arguments, context)
    except Unavailable as error:
        # A keyed one too: the store may have done it, now or for a worker that was here before.
        if ready.action.effect in _INTENDED:
            return CallState.UNKNOWN, ActionResult.failure(f"outcome unknown: {error.message}")
        return CallState.FAILED, ActionResult.failure(error.message)
    result = spill_large_turn_result(work, ready, result)
    return (CallState.COMPLETED if result.success else CallState.FAILED), result


def _finish(
    work: TurnWork, ready: ReadyCall, n: int, outcome: tuple[CallState, ActionResult]
) -> None:
    """Save a call's result with the lines, utterances and documents that it produced.

    Raises Changed when one of the documents is stored in another version; then nothing was saved.
    """
    state, result = outcome
    call, action = ready.call, ready.action
    ends = result.success and action.ends_turn(ready.arguments, result)
    record = call_result(work, call, state, result, n=n).replaced(ends_turn=ends)
    # Set before the save, so that the header, this line and all later ones agree (ADR 0017).
    if result.taint:
        work.turn = work.turn.replaced(taint=True)
    if action.effect is Effect.PURE:
        work.carry(record, _action_line(work, call, record))
        return
    lines, facts = _lines(work, call, record), (*result.facts, *_facts_of_files(work, result))
    utterances = _utterances(work, result, ends=ends)
    if len(lines) == 1 and not (facts or utterances) and _may_be_carried(work, ready, record):
        work.carry(record, *lines)
        return
    work.save(
        work.turn,
        record,
        lines=lines,
        utterances=utterances,
        beside=ExtraWrites(facts=facts, due=result.due),
        # Its effect is this very write, which a stop can prevent; others have happened (ADR 0009).
        unless_stopped=action.effect is Effect.TRANSACTIONAL,
        progress=True,
    )


def _may_be_carried(work: TurnWork, ready: ReadyCall, record: CallResult) -> bool:
    """Check whether the result of a keyed call may wait for the next change (ADR 0039).

    A death before that repeats the call under the condition of its intent, which finds the work
    done, as one between effect and result always did. What others outside see is saved at once, and
    so is the first result of a worker that took over.
    """
    is_at_home = ready.action.effect is Effect.KEYED and ready.impact is Impact.SELF
    took_over = work.turn.deliveries or work.turn.crashes
    return is_at_home and record.state is CallState.COMPLETED and not took_over


def _facts_of_files(work: TurnWork, result: ActionResult) -> tuple[Document, ...]:
    """Return what is kept of files that a call wrote: who may read them, names in foreign words."""
    written = [effect.path for effect in result.side_effects if isinstance(effect, FileWritten)]
    labels = turn_file_labels(work, result.side_effects)
    if not work.turn.taint:
        return labels
    # A turn that was tainted before has marked them (`ClearedFiles`); this one may be since now.
    names = dict.fromkeys(written)
    return labels + tuple(foreign_name_mark_of_turn(work.turn.agent_id, path) for path in names)


def _lines(work: TurnWork, call: ActionCall, record: CallResult) -> tuple[Line, ...]:
    """Return a call's lines: its speech and inner voice, or else one action line.

    Guidance, and the ends of tasks and goals, add a line each; the ends are shown to everybody in
    the session.
    """
    lines: list[Line] = []
    for effect in record.result.side_effects:
        if isinstance(effect, SpeechSent):
            said = truncate_turn_message(effect.text)
            lines.append(work.line(LineKind.SPEECH, said, **_reply(effect)))
        elif isinstance(effect, InnerVoiceNoted):
            text = truncate_turn_message(effect.text)
            lines.append(work.line(LineKind.INNER_VOICE, text, audience=Audience.SELF))
    if not lines:
        lines.append(_action_line(work, call, record))
    lines.extend(
        _guidance_line(work, effect)
        for effect in record.result.side_effects
        if isinstance(effect, GuidanceGiven)
    )
    lines.extend(
        work.line(LineKind.SYSTEM, effect.message)
        for effect in record.result.side_effects
        if effect.kind in {"task_ended", "goal_ended"}
    )
    return tuple(lines)


def _reply(speech: SpeechSent) -> dict[str, Any]:
    """Return the detail of a line that says which line it replies to; {} if to none."""
    answered = speech.reply_to
    return {} if answered is None else {"data": {REPLY_TO: answered.sequence}}


def _guidance_line(work: TurnWork, effect: GuidanceGiven) -> Line:
    """Return the line of a facilitator's guidance, which only agents read.

    Its authority is `peer`, whatever the turn's own is, because an agent wrote it.
    """
    line = work.line(LineKind.SYSTEM, truncate_turn_message(effect.text), audience=Audience.AGENTS)
    return line.replaced(authority=Authority.PEER)


def _utterances(work: TurnWork, result: ActionResult, *, ends: bool) -> tuple[Utterance, ...]:
    spoken = [effect for effect in result.side_effects if isinstance(effect, SpeechSent)]
    made: list[Utterance] = []
    for place, speech in enumerate(spoken, 1):
        ordinal = work.transcript.speeches + len(made)
        closes = ends and place == len(spoken)
        told: dict[str, Any] = {"reply_to": speech.reply_to.sent_as} if speech.reply_to else {}
        text = truncate_turn_message(speech.text)
        made.extend(work.utterance(text, ordinal, closes=closes, **told))
    return tuple(made)


def _action_line(work: TurnWork, call: ActionCall, record: CallResult) -> Line:
    result, name = record.result, action_name_of_turn_call(call)
    outcome = result.data if result.success else {"error": result.error}
    return work.line(
        LineKind.ACTION,
        f"{name} {record.state.value}",
        audience=Audience.SELF,
        data={
            "name": name,
            "arguments": _short(arguments_of_turn_call(call), _LINE_ARGUMENTS),
            "result": _short(outcome, _LINE_RESULT),
            "state": record.state.value,
        },
    )


def _short(value: object, limit: int) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= limit else f"{text[:limit]}…"
