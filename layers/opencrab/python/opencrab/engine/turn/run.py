"""run_turn: continue a delivered turn from its records, as far as it can go now."""

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from opencrab.domain.conversation.message import LineKind
from opencrab.domain.errors import Changed, Invalid, NotFound, Stopped, Superseded, Unavailable
from opencrab.domain.turn.action import SilenceChosen
from opencrab.domain.turn.record import ActionCall, ModelIntent, ModelResult
from opencrab.domain.turn.transcript import Transcript
from opencrab.domain.turn.turn import Stop, Turn, TurnStatus
from opencrab.domain.usage.ledger import UsageRow
from opencrab.engine.consequence import EVERY_TRAIT
from opencrab.engine.phrases import system_phrase
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.act import (
    recover_open_intent_of_turn,
    run_tool_calls_of_turn,
    settle_turn_intent_as_unknown,
)
from opencrab.engine.turn.call import does_turn_call_only_read
from opencrab.engine.turn.close import close_narrowed_turn, close_turn
from opencrab.engine.turn.decide import call_model
from opencrab.engine.turn.observe import load_turn_work
from opencrab.engine.turn.receipt import receipts_of_turn
from opencrab.engine.turn.work import TurnWork, queue_turn_utterance
from opencrab.ports.turn.journal import (
    Interruption,
    Journal,
    RecordedTurn,
    TurnChange,
    resolve_record_pointers,
)
from opencrab.ports.turn.queue import Delivery, MessageOutcome

log = logging.getLogger(__name__)

REPAIRS = 2
"""The number of repairs of invalid tool calls: the third such step in a row ends the turn.

A step is invalid if all of its tool calls are: unknown action, or arguments that do not fit.
"""

SLACK_SECONDS = 15.0
"""The time that a worker needs after a model call, to save its answer."""

_DEEDS = 5
_TRIES = 5

Moved = TypeVar("Moved")


@dataclass(frozen=True)
class Pace:
    """The time that a worker has left, and whether its process is stopping; asked between steps.

    `between_steps` gets the turn's header there. On a computer, where one process runs several
    turns, it lets a suspect turn run alone; on AWS it does nothing.
    """

    seconds_left: Callable[[], float] = lambda: float("inf")
    stopping: Callable[[], bool] = lambda: False
    between_steps: Callable[[Turn], None] = lambda _turn: None

    def allows(self, model_timeout_seconds: float) -> bool:
        """Check whether there is time for one more model call."""
        return not self.stopping() and self.seconds_left() >= model_timeout_seconds + SLACK_SECONDS


def turn_id_in_queue_message(body: str) -> str:
    """Return the id of the turn that a queue message names; raises Invalid if it is malformed."""
    try:
        message = json.loads(body)
        if message["v"] == 1 and isinstance(message["turn"], str):
            return str(message["turn"])
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    raise Invalid("malformed queue message")


def is_turn_delivery_suspect(journal: Journal, delivery: Delivery) -> bool:
    """Check whether a message's turn was running when the process died, with no result since.

    The header is read for redeliveries only: at its first delivery a turn has not run yet. A
    message that names no stored turn is no suspect. Raises Unavailable when the store is.
    """
    if delivery.count <= 1:
        return False
    try:
        return journal.header(turn_id_in_queue_message(delivery.body)).is_suspect
    except (Invalid, NotFound):
        return False


def run_turn(runtime: Runtime, delivery: Delivery, pace: Pace) -> MessageOutcome:
    """Run a turn until it ends, waits, or must continue later.

    The journal says what is done, so another run continues there. A message that names no turn,
    or a turn that cannot be read, goes to the dead letters. Raises Unavailable when a store is.
    """
    lease = timedelta(seconds=runtime.rules.step_lease_seconds)
    # Asked before the claim: a claim counts a delivery, and a worker without time would spend them
    # all without ever making a call (ADR 0028).
    if not pace.allows(runtime.rules.model_timeout_seconds):
        return _requeue_turn_message(runtime, delivery)
    claimed = None
    try:
        claimed = runtime.home.journal.claim(
            turn_id_in_queue_message(delivery.body),
            lease_until=runtime.clock.now() + lease,
            receipt=delivery.receipt,
        )
        # The turn has ended, or it waits, and whoever decides or resumes it queues it again.
        if claimed is None:
            return MessageOutcome.FINISHED
        records = claimed.records and resolve_record_pointers(claimed.records, runtime.home.blobs)
        work = load_turn_work(runtime, claimed.turn, Transcript.of(records))
        return _drive(work, delivery, pace)
    # Another worker has a newer epoch and goes on; whatever this one still meant to write is
    # refused (ADR 0004).
    except Superseded:
        return MessageOutcome.FINISHED
    # No retry can mend these: the turn's agent, session or a record is missing or unreadable.
    except (Invalid, NotFound) as error:
        runtime.home.turns.dead_letter(delivery.body, group=delivery.group, reason=error.message)
        _log_dead_letter(None if claimed is None else claimed.turn, delivery, error.message)
        if claimed is not None:
            abandon_turn(runtime, claimed, error.message)
        return MessageOutcome.FINISHED


def abandon_turn(runtime: Runtime, claimed: RecordedTurn, why: str) -> None:
    """End a turn whose agent, session or records are missing or unreadable.

    If documents that the consequences read keep changing, the turn stays open, which is logged: the
    sweep queues it again when its lease has ended, and a worker then abandons it.
    """
    turn, now = claimed.turn, runtime.clock.now()
    # A lost call is charged in full (ADR 0008), and what is left of the allowance goes back.
    lost = [
        (intent, ModelResult.with_unknown_outcome(intent))
        for intent in _unfinished_model_calls(claimed)
    ]
    for intent, _ in lost:
        turn = turn.with_cost(reserved=intent.reserved, cost=intent.reserved)
    ended = turn.replaced(
        status=TurnStatus.FAILED, ended_at=now, lease_until=None, note=why, allowance=0
    )
    for _ in range(_TRIES):
        hooks = runtime.consequences[EVERY_TRAIT]
        after = [on_abandon(runtime, turn, why) for on_abandon in hooks.on_abandon]
        change = TurnChange(
            turn=ended,
            expected=turn.sequence,
            records=tuple(result for _, result in lost),
            draws=turn.closing_budget_draws(now.strftime("%Y-%m-%d")),
            usage=tuple(UsageRow.of_call(turn, intent, result, now) for intent, result in lost),
            facts=tuple(fact for each in after for fact in each.facts),
            due=tuple(item for each in after for item in each.due),
            at=now,
        )
        try:
            runtime.home.journal.commit(change)
        # A document that a consequence read was changed meanwhile; the turn is still this worker's.
        except Changed:
            continue
        except Superseded:
            pass
        return
    log.error(
        "cannot end turn %s (%s): concurrent updates in %s tries; it is queued again after %s",
        turn.id,
        why,
        _TRIES,
        turn.lease_until,
    )


def _unfinished_model_calls(claimed: RecordedTurn) -> tuple[ModelIntent, ...]:
    """Return the model call during which the last worker died, whose cost is not settled yet."""
    ended = {record.n for record in claimed.records if not isinstance(record, ModelIntent)}
    return tuple(
        record
        for record in claimed.records
        if isinstance(record, ModelIntent) and record.n not in ended
    )


def _drive(work: TurnWork, delivery: Delivery, pace: Pace) -> MessageOutcome:
    """Run steps until the turn ends or waits, or until there is no time for one more call."""
    _prepare_first_step(work, delivery)
    while not work.turn.status.is_end and work.turn.status is not TurnStatus.WAITING:
        pace.between_steps(work.turn)
        if not _advance_to_model_call(work):
            continue
        if work.narrowed:
            close_narrowed_turn(work)
            continue
        if not pace.allows(work.runtime.rules.model_timeout_seconds):
            _uncount_delivery(work)
            return _requeue_turn_message(work.runtime, delivery)
        seconds = _run_until_stopped(work, call_model)
        if seconds is not None:
            return _requeue_turn_message(work.runtime, delivery, seconds)
    return MessageOutcome.FINISHED


def _prepare_first_step(work: TurnWork, delivery: Delivery) -> None:
    """Do what this worker must do before its first step of the turn, which may end it already."""
    for on_begin in work.hooks.on_begin:
        on_begin(work)
    # Before anything new is said, to keep the order; the queue drops what was sent already.
    _queue_saved_speech(work)
    # Only an announced pause leaves a note in a turn that has not ended (`Turn.paused`).
    if work.turn.note and work.turn.stop is None:
        work.turn = work.turn.replaced(note="")
    if work.turn.give_up_reason:
        _give_up(work, delivery)
    elif work.transcript.pending is not None:
        _stop_if_frozen(work)


def _queue_saved_speech(work: TurnWork) -> None:
    """Queue all speech of the turn again: a worker may have died before it was queued."""
    for ordinal in range(work.transcript.speeches):
        for utterance in work.utterance("", ordinal):
            queue_turn_utterance(work.runtime.home.deliveries, utterance)


def _stop_if_frozen(work: TurnWork) -> None:
    """End a turn of a frozen agent that has a tool call to run; `decide` checks model calls."""
    work.looked_ms = work.runtime.clock.monotonic_ms()
    if work.runtime.home.journal.read_step_state(work.turn).frozen is not None:
        settle_turn_intent_as_unknown(work)
        close_turn(
            work, TurnStatus.STOPPED, notice=system_phrase("frozen", work.profile.agent.language)
        )


def _requeue_turn_message(
    runtime: Runtime, delivery: Delivery, seconds: int | None = None
) -> MessageOutcome:
    """Give the message back to the queue for so many seconds, or for `continue_seconds`.

    Before the claim this counts as no delivery of the turn.
    """
    wait = runtime.rules.continue_seconds if seconds is None else seconds
    runtime.home.turns.continue_later(delivery.receipt, wait)
    return MessageOutcome.CONTINUE


def _uncount_delivery(work: TurnWork) -> None:
    """Subtract this delivery: the turn is given back between two steps, not lost (ADR 0028).

    Results that wait for the next change are saved: nobody knows when that will be.
    """
    if work.turn.deliveries:
        work.save(work.turn.replaced(deliveries=work.turn.deliveries - 1))
    elif work.carried:
        work.save(work.turn, progress=True)


def _advance_to_model_call(work: TurnWork) -> bool:
    """Do the next thing that comes before a model call; True if nothing is left but the call."""
    transcript, language = work.transcript, work.profile.agent.language
    # The order of these is the turn's state machine. What a dead worker left open comes first,
    # since no record may follow an intent that has no result; then a stop or pause, then the tool
    # calls that the model has requested, and the model only when nothing else is left (ADR 0004,
    # 0009).
    if transcript.open_intent is not None:
        recover_open_intent_of_turn(work)
    elif (stop := work.turn.stop) is not None:
        _run_until_stopped(work, lambda running: _wait_or_stop(running, stop))
    elif transcript.repairs > REPAIRS:
        close_turn(work, TurnStatus.IDLE, note=f"no valid tool call after {REPAIRS} repairs")
    elif not work.profile.agent.answers:
        close_turn(work, TurnStatus.STOPPED, notice=system_phrase("retired", language))
    elif (call := transcript.pending) is not None:
        _run_until_stopped(work, lambda running: _run_unless_stopped(running, call))
    elif transcript.steps and transcript.steps[-1].ends_turn:
        close_turn(work, TurnStatus.IDLE if _kept_silent(work) else TurnStatus.COMPLETED)
    elif work.calls_left <= 0:
        notice = system_phrase("max_steps", language, limit=work.runtime.rules.max_steps)
        close_turn(work, TurnStatus.EXHAUSTED, notice=notice)
    else:
        return True
    return False


def _run_unless_stopped(work: TurnWork, call: ActionCall) -> None:
    """Run the next tool call unless the turn was stopped or frozen meanwhile."""
    if not _looks_stopped(work, call):
        run_tool_calls_of_turn(work, call)


def _looks_stopped(work: TurnWork, call: ActionCall) -> bool:
    """Look for a stop or freeze before a tool call; True if there is one.

    Not more often than every `stop_check_ms`, so that quick calls cost no reads. A stop is handled
    by the next step, a freeze at once. A call that does more than read is not allowed to begin
    after a stop, or is not saved (ADR 0009): for that one only a freeze is looked for.
    """
    now = work.runtime.clock.monotonic_ms()
    if now - work.looked_ms < work.runtime.rules.stop_check_ms:
        return False
    work.looked_ms = now
    journal = work.runtime.home.journal
    try:
        if does_turn_call_only_read(work, call):
            found = journal.interruption(work.turn)
        else:
            found = Interruption(frozen=journal.read_step_state(work.turn).frozen)
    except Unavailable:
        return False
    if found.stop is not None:
        work.turn = work.turn.replaced(stop=found.stop)
    elif found.frozen is not None:
        language = work.profile.agent.language
        close_turn(work, TurnStatus.STOPPED, notice=system_phrase("frozen", language))
    return found.stop is not None or found.frozen is not None


def _kept_silent(work: TurnWork) -> bool:
    """Check whether a turn that an action ended was idle: it said nothing and settled nothing.

    It is idle if it chose silence, or if it carries out no task.
    """
    if work.transcript.speeches or work.transcript.declared_done:
        return False
    results = work.transcript.steps[-1].results.values()
    passed = any(isinstance(e, SilenceChosen) for each in results for e in each.result.side_effects)
    return passed or work.turn.task is None


def _wait_or_stop(work: TurnWork, stop: Stop) -> None:
    """End a turn that was asked to stop; let a paused one wait, and say what it has done so far."""
    language = work.profile.agent.language
    if not stop.pause:
        notice = system_phrase("taken_over" if stop.is_takeover else "stopped", language)
        if stop.is_takeover and work.turn.task is not None:
            notice = system_phrase("gave_way", language)
        close_turn(work, TurnStatus.STOPPED, notice=notice)
        return
    if any(try_resume(work) for try_resume in work.hooks.try_resume):
        return
    done = "; ".join(_latest_deeds(work)) or system_phrase("nothing_yet", language)
    text = system_phrase("paused", language, label=work.turn.task or work.turn.id, done=done)
    # If it was resumed and paused again before it went on, its session knows already.
    lines = () if work.turn.pause_announced else (work.line(LineKind.SYSTEM, text),)
    work.save(work.turn.paused(), lines=lines, progress=True)


def _latest_deeds(work: TurnWork) -> list[str]:
    """Return the newest five things that this turn has done, a short line each."""
    told = [
        f"{receipt.action} {receipt.path}" if receipt.path else receipt.action
        for receipt in receipts_of_turn(work)
    ]
    return told[-_DEEDS:]


def _run_until_stopped(work: TurnWork, move: Callable[[TurnWork], Moved]) -> Moved | None:
    """Return what `move` returns; None if a stop prevented it, which the header then holds."""
    try:
        return move(work)
    except Stopped:
        work.accept_stop()
        return None


def _give_up(work: TurnWork, delivery: Delivery) -> None:
    """Fail a turn that makes no progress, tell its user, and keep a copy for the operator."""
    turn: Turn = work.turn
    reason = f"turn {turn.id} made {turn.give_up_reason}"
    # Dead-lettered before it is closed: a crash in between adds a second copy, the other order
    # would lose the operator's only one.
    work.runtime.home.turns.dead_letter(delivery.body, group=delivery.group, reason=reason)
    _log_dead_letter(turn, delivery, reason)
    settle_turn_intent_as_unknown(work, progress=False)
    notice = system_phrase("no_progress", work.profile.agent.language)
    close_turn(work, TurnStatus.FAILED, notice=notice, note=reason)


def _log_dead_letter(turn: Turn | None, delivery: Delivery, reason: str) -> None:
    log.warning(
        "turn given up, message moved to the dead-letter queue: agent_id=%s, session_id=%s,"
        " turn_id=%s, reason=%s",
        turn and turn.agent_id,
        delivery.group if turn is None else turn.session_id,
        turn and turn.id,
        reason,
    )
