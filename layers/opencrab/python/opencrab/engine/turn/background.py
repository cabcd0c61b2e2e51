"""Background turns: one question to a model, such as a summary, whose answer goes to nobody.

Each kind is registered as a `BackgroundJob`, which opens its turns and does what follows them.
"""

import json
import logging
from collections.abc import Mapping
from datetime import datetime, timedelta

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.conversation.session import Participant, Session
from opencrab.domain.errors import Changed, Invalid, NotFound, Stopped, Superseded
from opencrab.domain.memory.clearance import NOTHING_WITHHELD
from opencrab.domain.turn.transcript import Transcript
from opencrab.domain.turn.turn import Trigger, Turn, TurnStatus
from opencrab.engine.consequence import BackgroundJob
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.act import settle_turn_intent_as_unknown
from opencrab.engine.turn.close import close_turn
from opencrab.engine.turn.decide import call_model
from opencrab.engine.turn.run import Pace, abandon_turn
from opencrab.engine.turn.work import QuestionJob, TurnWork
from opencrab.ports.turn.journal import RecordedTurn, resolve_record_pointers
from opencrab.ports.turn.queue import Delivery, MessageOutcome

log = logging.getLogger(__name__)

_ABOUT = ("period", "instructions")
"""The fields of requests that are about something other than a session."""

TurnJob = BackgroundJob[Runtime, QuestionJob]
"""The base class of a capability's own kind of background turn."""


def background_turn_of_agent(agent_id: str, turn_id: str, group: str, now: datetime) -> Turn:
    """Return a background turn, not stored yet, that an agent has outside of all sessions."""
    return Turn(
        id=turn_id,
        agent_id=agent_id,
        session_id="",
        trigger=Trigger.COMPACTION,
        source=Source.HEARTBEAT,
        authority=Authority.SELF,
        principal_id=agent_id,
        group=group,
        body_hash=turn_id,
        lease_until=now,
        created_at=now,
    )


def placeholder_session_of_turn(turn: Turn) -> Session:
    """Return a session for a turn without one; it is never stored or delivered."""
    return Session(
        id=turn.id,
        participants=(Participant(agent_id=turn.agent_id),),
        created_by=turn.agent_id,
        created_at=turn.created_at,
        updated_at=turn.created_at,
    )


def run_background_turn(runtime: Runtime, delivery: Delivery, pace: Pace) -> MessageOutcome:
    """Run the turn that a queue message names, or open the one that it asks for.

    It may be called again with the same message at any time. Raises Unavailable when a store is.
    """
    if not pace.allows(runtime.rules.model_timeout_seconds):
        return _requeue_job_message(runtime, delivery)
    claimed = None
    try:
        message = _parse_message(delivery.body)
        if turn_id := message.get("turn"):
            claimed = _claim(runtime, turn_id, delivery)
        if claimed is not None:
            return _run_claimed_job(runtime, claimed, delivery, pace)
        _start_next_job(runtime, message)
    except Superseded:
        pass
    except Changed:
        return _requeue_job_message(runtime, delivery)
    except (Invalid, NotFound) as error:
        runtime.home.compactions.dead_letter(
            delivery.body, group=delivery.group, reason=error.message
        )
        if claimed is not None:
            abandon_turn(runtime, claimed, error.message)
    return MessageOutcome.FINISHED


def _parse_message(body: str) -> Mapping[str, str]:
    """Return a message's fields: the turn's id, or an agent and what to work on.

    Raises Invalid for anything but version 1.
    """
    try:
        told = json.loads(body)
        if told["v"] == 1 and isinstance(told.get("turn", ""), str):
            if "turn" in told:
                return {"turn": told["turn"]}
            about = next((each for each in _ABOUT if each in told), "session")
            return {name: str(told[name]) for name in ("agent", about)}
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    raise Invalid("malformed background-job message")


def _requeue_job_message(
    runtime: Runtime, delivery: Delivery, seconds: int | None = None
) -> MessageOutcome:
    """Give the message back to the queue for so many seconds, or for `continue_seconds`."""
    wait = runtime.rules.continue_seconds if seconds is None else seconds
    runtime.home.compactions.continue_later(delivery.receipt, wait)
    return MessageOutcome.CONTINUE


def _claim(runtime: Runtime, turn_id: str, delivery: Delivery) -> RecordedTurn | None:
    lease = timedelta(seconds=runtime.rules.step_lease_seconds)
    until = runtime.clock.now() + lease
    return runtime.home.journal.claim(turn_id, lease_until=until, receipt=delivery.receipt)


def _start_next_job(runtime: Runtime, message: Mapping[str, str]) -> None:
    """Open the turn that a message asks for, or do what follows a turn that has ended."""
    if turn_id := message.get("turn"):
        _follow_up(runtime, runtime.home.journal.header(turn_id))
        return
    if not any(job.open_turn(runtime, message) for job in runtime.jobs):
        raise Invalid(f"no background job handles a message with the fields {', '.join(message)}")


def _job_of(runtime: Runtime, turn: Turn) -> TurnJob | None:
    """Return the job that a turn belongs to; None for embeddings, whose caller waits for them.

    Raises Invalid if no job handles the turn.
    """
    if turn.trigger is Trigger.EMBEDDING:
        return None
    for job in runtime.jobs:
        if job.handles_turn(turn):
            return job
    raise Invalid(f"no background job handles turn {turn.id!r}")


def _follow_up(runtime: Runtime, turn: Turn) -> None:
    """Do what follows an ended turn, such as opening the next one; nothing for embeddings."""
    if (job := _job_of(runtime, turn)) is not None:
        job.after_end(runtime, turn)


def _run_claimed_job(
    runtime: Runtime, claimed: RecordedTurn, delivery: Delivery, pace: Pace
) -> MessageOutcome:
    """Run a claimed turn until it ends, or until there is no time for a model call."""
    job = _job_of(runtime, claimed.turn)
    if job is None:
        # The caller that wanted the embeddings died and will ask again; only the cost is settled.
        abandon_turn(runtime, claimed, "the worker that requested embeddings died")
        return MessageOutcome.FINISHED
    work = _build_work(runtime, claimed, job)
    while not work.turn.status.is_end:
        if work.transcript.open_intent is not None:
            settle_turn_intent_as_unknown(work, progress=not work.turn.give_up_reason)
        elif not _close_unless_needed(work):
            continue
        elif not pace.allows(runtime.rules.model_timeout_seconds):
            return _requeue_job_message(runtime, delivery)
        else:
            seconds = _decide_unless_stopped(work)
            if seconds is not None:
                return _requeue_job_message(runtime, delivery, seconds)
    if work.turn.status is not TurnStatus.COMPLETED:
        log.warning(
            "background turn was not completed: turn=%s, status=%s",
            work.turn.id,
            work.turn.status.value,
        )
    job.after_end(runtime, work.turn)
    return MessageOutcome.FINISHED


def _close_unless_needed(work: TurnWork) -> bool:
    """Close a turn that was stopped, used up or is no longer needed; True if it is still open."""
    if work.turn.stop is not None:
        close_turn(work, TurnStatus.STOPPED, note="cancelled")
    elif work.turn.give_up_reason:
        close_turn(work, TurnStatus.FAILED, note=work.turn.give_up_reason)
    elif work.calls_left <= 0:
        close_turn(work, TurnStatus.EXHAUSTED, note="too many model calls failed")
    elif work.job is not None and (why := work.job.skip_reason(work)):
        close_turn(work, TurnStatus.IDLE, note=why)
    return not work.turn.status.is_end


def _decide_unless_stopped(work: TurnWork) -> int | None:
    try:
        return call_model(work)
    except Stopped:
        work.accept_stop()
        return None


def _build_work(runtime: Runtime, claimed: RecordedTurn, job: TurnJob) -> TurnWork:
    """Load a claimed background turn's agent, session, records and question."""
    profile = runtime.home.agents.get(claimed.turn.agent_id)
    turn, session, question = job.prepare(runtime, claimed.turn, profile)
    return TurnWork(
        runtime=runtime,
        turn=turn,
        transcript=Transcript.of(resolve_record_pointers(claimed.records, runtime.home.blobs)),
        profile=profile,
        session=session,
        clearance=NOTHING_WITHHELD,
        history=(),
        next_n=turn.sequence,
        limits=runtime.rules.limits,
        job=question,
    )
