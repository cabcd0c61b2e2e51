"""Compaction: one turn of its own kind makes one summary, paid for like every other model call.

A turn is opened for a stretch of a session, or for a day or month that has passed; its header says
which. What it writes is written when it ends: the summary, and how far its session has come.
"""

import json
import logging
from dataclasses import dataclass
from datetime import timedelta

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.agents.agent import Agent
from opencrab.domain.document import Fact
from opencrab.domain.errors import Changed, Invalid, NotFound, Stopped, Superseded
from opencrab.domain.identifier import stable_id
from opencrab.domain.memory.search_row import Row, RowKind, row_of
from opencrab.domain.memory.summary import PROMPT_VERSION, Period, Span, Tried
from opencrab.domain.turn.transcript import Transcript
from opencrab.domain.turn.turn import Trigger, Turn, TurnStatus
from opencrab.engine.learning.report.wording import (
    Words,
    is_for_words,
    nowhere,
    open_words,
    show_words,
)
from opencrab.engine.memory.compaction.prompt import source_of_row, tokens_of
from opencrab.engine.memory.compaction.source import Digest, Library, Stretch, room_of
from opencrab.engine.memory.compaction.trigger import wish
from opencrab.engine.queueing import enqueue
from opencrab.engine.runtime import Runtime
from opencrab.engine.stored_record import resolved
from opencrab.engine.turn.act import settle_unknown
from opencrab.engine.turn.close import close
from opencrab.engine.turn.decide import decide
from opencrab.engine.turn.pace import Outcome, Pace
from opencrab.engine.turn.run import abandon
from opencrab.engine.turn.work import Job, Work
from opencrab.ports.turn.journal import Recorded
from opencrab.ports.turn.queue import Delivery

log = logging.getLogger(__name__)

AT_ONCE = 8
"""Summaries that follow from one wish: a long past is caught up with step by step."""


@dataclass(frozen=True)
class _Message:
    """What a message of this queue says: what has grown, what is to be worded, or a turn's id."""

    turn_id: str = ""
    agent_id: str = ""
    session_id: str = ""
    period: str = ""


def run_compaction(runtime: Runtime, delivery: Delivery, pace: Pace) -> Outcome:
    """Make the summary that a message names, or open the turn of the next one that is due.

    It may be run again at any time. Raises Unavailable when a store is.
    """
    if not pace.allows(runtime.rules.model_timeout_seconds):
        return _later(runtime, delivery)
    claimed = None
    try:
        message = _read(delivery.body)
        if message.turn_id:
            claimed = _claim(runtime, message.turn_id, delivery)
        if claimed is not None:
            return _carried_on(runtime, claimed, delivery, pace)
        _go_on(runtime, message)
    except Superseded:
        pass
    except Changed:
        return _later(runtime, delivery)
    except (Invalid, NotFound) as error:
        runtime.home.compactions.bury(delivery.body, group=delivery.group, reason=error.message)
        if claimed is not None:
            abandon(runtime, claimed, error.message)
    return Outcome.FINISHED


def retry(runtime: Runtime, agent_id: str, session_id: str) -> None:
    """Try again now what has failed, however often it did, and what was passed over."""
    library = Library(runtime.home.facts, agent_id)
    for stored, value in (library.compaction(session_id), library.shelf()):
        if value.failures or value.gaps:
            runtime.home.facts.commit(stored.holding(value.again()))
    wish(runtime, agent_id, session_id, f"retry {runtime.clock.now().isoformat()}")


def _read(body: str) -> _Message:
    try:
        told = json.loads(body)
        if told["v"] == 1 and isinstance(told.get("turn", ""), str):
            if "turn" in told:
                return _Message(turn_id=told["turn"])
            if "period" in told:
                return _Message(agent_id=str(told["agent"]), period=str(told["period"]))
            return _Message(agent_id=str(told["agent"]), session_id=str(told["session"]))
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    raise Invalid("a message about summaries of unknown form")


def _later(runtime: Runtime, delivery: Delivery, seconds: int | None = None) -> Outcome:
    wait = runtime.rules.continue_seconds if seconds is None else seconds
    runtime.home.compactions.continue_later(delivery.receipt, wait)
    return Outcome.CONTINUE


def _claim(runtime: Runtime, turn_id: str, delivery: Delivery) -> Recorded | None:
    lease = timedelta(seconds=runtime.rules.lease_seconds)
    until = runtime.clock.now() + lease
    return runtime.home.journal.claim(turn_id, lease_until=until, receipt=delivery.receipt)


def _go_on(runtime: Runtime, message: _Message) -> None:
    """Open what is due next, for a session that has grown or after a turn that has ended."""
    if message.turn_id:
        _after(runtime, runtime.home.journal.header(message.turn_id))
    elif message.period:
        open_words(runtime, message.agent_id, message.period)
    else:
        _open_next(runtime, message.agent_id, message.session_id, hops=0)


def _after(runtime: Runtime, turn: Turn) -> None:
    """What follows a turn that has ended: the next summary, unless this one failed.

    What was to be worded is shown where it belongs, or why it is not there.
    """
    if is_for_words(turn):
        show_words(runtime, turn)
        return
    made = turn.trigger is Trigger.COMPACTION and turn.status is TurnStatus.COMPLETED
    if made and turn.hops < AT_ONCE:
        _open_next(runtime, turn.agent_id, turn.session_id, hops=turn.hops)


def _carried_on(runtime: Runtime, claimed: Recorded, delivery: Delivery, pace: Pace) -> Outcome:
    if claimed.turn.trigger is Trigger.EMBEDDING:
        # Whoever asked for vectors is gone, and asks again: what is left is to pay for it.
        abandon(runtime, claimed, "the worker that asked for vectors died")
        return Outcome.FINISHED
    work = _prepared(runtime, claimed)
    while not work.turn.status.is_end:
        if work.transcript.open_intent is not None:
            settle_unknown(work, progress=not work.turn.hopeless)
        elif not _may_ask(work):
            continue
        elif not pace.allows(runtime.rules.model_timeout_seconds):
            return _later(runtime, delivery)
        else:
            seconds = _asked(work)
            if seconds is not None:
                return _later(runtime, delivery, seconds)
    if work.turn.status is not TurnStatus.COMPLETED:
        log.warning("no summary was made by turn %s: %s", work.turn.id, work.turn.status.value)
    _after(runtime, work.turn)
    return Outcome.FINISHED


def _may_ask(work: Work) -> bool:
    """Whether the model is to be asked; a turn that is over, or of no more use, ends here."""
    if work.turn.stop is not None:
        close(work, TurnStatus.STOPPED, note="somebody stopped it")
    elif work.turn.hopeless:
        close(work, TurnStatus.FAILED, note=work.turn.hopeless)
    elif work.calls_left <= 0:
        close(work, TurnStatus.EXHAUSTED, note="too many model calls failed")
    elif work.job is not None and (why := work.job.obstacle(work)):
        close(work, TurnStatus.IDLE, note=why)
    return not work.turn.status.is_end


def _asked(work: Work) -> int | None:
    try:
        return decide(work)
    except Stopped:
        work.hear_stop()
        return None


def _prepared(runtime: Runtime, claimed: Recorded) -> Work:
    """The turn in this worker's hands, with what its summary is made of."""
    turn, home = claimed.turn, runtime.home
    profile = home.agents.get(turn.agent_id)
    job: Job
    if is_for_words(turn):
        session, job = nowhere(turn, profile), Words.of(runtime, turn, profile.agent)
    else:
        session = home.sessions.get(turn.session_id)
        job = digest = Digest.of(runtime, turn, profile.agent, session)
        turn = turn.replaced(taint=digest.draft.tainted)
    return Work(
        runtime=runtime,
        turn=turn,
        transcript=Transcript.of(resolved(claimed.records, home.blobs)),
        profile=profile,
        session=session,
        history=(),
        next_n=turn.sequence,
        limits=runtime.rules.limits,
        skills=(),
        guidance=(),
        job=job,
    )


def _open_next(runtime: Runtime, agent_id: str, session_id: str, *, hops: int) -> None:
    """Open and queue the turn of the summary that is due next, if one is."""
    agent = runtime.home.agents.get(agent_id).agent
    if runtime.rules.compact_every <= 0 or not agent.answers:
        return
    library, now = Library(runtime.home.facts, agent_id), runtime.clock.now()
    causes: tuple[str, ...] = (session_id,)
    stretch = _lines(runtime, agent, session_id)
    ledger: tuple[Fact, Tried] = library.compaction(session_id)
    if stretch is None:
        period = _period(runtime, library)
        if period is None:
            return
        stretch, causes = Stretch(period.span, key=period.key), period.parts
        ledger = library.shelf()
    _, tried = ledger
    failed_at = tried.failed_at.isoformat() if tried.failed_at else ""
    attempt = (str(tried.failures), failed_at, str(PROMPT_VERSION))
    turn_id = stable_id("compaction", agent_id, stretch.name, *causes, *attempt)
    turn = Turn(
        id=turn_id,
        agent_id=agent_id,
        session_id=session_id,
        trigger=Trigger.COMPACTION,
        source=Source.SCHEDULE,
        authority=Authority.SELF,
        principal_id=agent_id,
        group=stretch.name,
        body_hash=turn_id,
        lease_until=now,
        hops=hops + 1,
        created_at=now,
    )
    opened = runtime.home.journal.open(turn)
    if opened.status.is_end:
        # It ended without a word of it where its world could not be read; the next is another.
        runtime.home.facts.commit(library.missed(stretch, session_id, opened.note, now))
    enqueue(runtime, opened)


def _lines(runtime: Runtime, agent: Agent, session_id: str) -> Stretch | None:
    """The next lines of a session to be summarised together, when there are enough of them.

    Gaps that are tried again come first. Stretches in which nobody spoke, or all of which is
    forgotten, need no summary.
    """
    library, journal = Library(runtime.home.facts, agent.id), runtime.home.journal
    session, every = runtime.home.sessions.get(session_id), runtime.rules.compact_every
    while True:
        stored, compaction = library.compaction(session_id)
        if not compaction.may_try(runtime.clock.now()):
            return None
        gap = compaction.retried
        first = gap.first if gap else compaction.done + 1
        end = gap.last if gap else (compaction.done // every + 1) * every
        lines = journal.lines(session_id, after=first - 1, before=end + 1, limit=end - first + 1)
        if gap is None and (not lines or lines[-1].sequence < end):
            return None
        rows = (row_of(line, session, agent.id) for line in lines)
        spoken = [row for row in rows if row is not None and row.kind is RowKind.SPEECH]
        if spoken:
            last = end if gap else _last(runtime, agent, spoken, end)
            return Stretch(Span.TOPIC, first=first, last=last)
        passed = compaction.succeeded(runtime.clock.now()).closing(first)
        passed = passed.replaced(done=max(compaction.done, end))
        runtime.home.facts.commit(stored.holding(passed))


def _last(runtime: Runtime, agent: Agent, spoken: list[Row], end: int) -> int:
    """Where a stretch ends whose words the model takes at once."""
    room = room_of(runtime, agent)
    used = tokens_of(source_of_row(spoken[0], room))
    for row in spoken[1:]:
        used += tokens_of(source_of_row(row, room))
        if used > room:
            return row.sequence - 1
    return end


def _period(runtime: Runtime, library: Library) -> Period | None:
    """The day or month whose summary is due, without those of which nothing is left."""
    while True:
        stored, shelf = library.shelf()
        now = runtime.clock.now()
        period = shelf.due(now) if shelf.may_try(now) else None
        if period is None or library.summaries(period.parts):
            return period
        emptied = shelf.without_parts(period.key, set(period.parts))
        runtime.home.facts.commit(stored.holding(emptied))
