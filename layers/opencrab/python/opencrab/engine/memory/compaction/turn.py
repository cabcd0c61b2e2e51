"""Compaction turns: each writes one summary and is paid for like every other model call.

A turn is opened for a range of a session's lines, or for a day or month that is over; its header
says which. The summary and the session's progress are written when the turn ends.
"""

import logging
from collections.abc import Mapping

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.agents.agent import Agent, Profile
from opencrab.domain.conversation.session import Session
from opencrab.domain.document import Document
from opencrab.domain.identifier import stable_id
from opencrab.domain.memory.search_row import RowKind, SearchRow, memory_search_row_of_line
from opencrab.domain.memory.summary import (
    PROMPT_VERSION,
    SummaryAttempts,
    SummaryPeriod,
    SummarySpan,
)
from opencrab.domain.turn.turn import Trigger, Turn, TurnStatus
from opencrab.engine.memory.compaction.prompt import summary_source_of_row, summary_source_tokens
from opencrab.engine.memory.compaction.source import (
    PendingSummary,
    StoredSummaries,
    SummaryStretch,
    summary_source_room,
)
from opencrab.engine.memory.compaction.trigger import request_compaction
from opencrab.engine.queueing import enqueue_turn
from opencrab.engine.runtime import Rules, Runtime
from opencrab.engine.turn.background import TurnJob
from opencrab.engine.turn.work import QuestionJob
from opencrab.ports.clock import Clock
from opencrab.ports.documents import Documents
from opencrab.ports.models.model import Models

log = logging.getLogger(__name__)

AT_ONCE = 8
"""The most summaries that follow from one request: a long history is done step by step."""


class SummaryJob(TurnJob):
    """Background turns that summarize ranges of a session, and days and months that are over."""

    def open_turn(self, runtime: Runtime, message: Mapping[str, str]) -> bool:
        if "session" not in message:
            return False
        _open_next(runtime, message["agent"], message["session"], hops=0)
        return True

    def handles_turn(self, turn: Turn) -> bool:
        return turn.trigger is Trigger.COMPACTION

    def prepare(
        self, runtime: Runtime, turn: Turn, profile: Profile
    ) -> tuple[Turn, Session, QuestionJob]:
        session = runtime.home.sessions.get(turn.session_id)
        digest = PendingSummary.of(runtime, turn, profile.agent, session)
        return turn, session, digest

    def after_end(self, runtime: Runtime, turn: Turn) -> None:
        """Open the next summary's turn, unless this one failed."""
        made = turn.trigger is Trigger.COMPACTION and turn.status is TurnStatus.COMPLETED
        if made and turn.hops < AT_ONCE:
            _open_next(runtime, turn.agent_id, turn.session_id, hops=turn.hops)


def retry_compaction(runtime: Runtime, agent_id: str, session_id: str) -> None:
    """Retry failed and skipped summaries of an agent now, ignoring their backoff."""
    library = StoredSummaries(runtime.home.facts, agent_id)
    for stored, value in (library.compaction(session_id), library.load_summary_index()):
        if value.failures or value.gaps:
            runtime.home.facts.commit(stored.with_body(value.with_failures_reset()))
    request_compaction(
        runtime.home.compactions, agent_id, session_id, f"retry {runtime.clock.now().isoformat()}"
    )


def _open_next(runtime: Runtime, agent_id: str, session_id: str, *, hops: int) -> None:
    """Open and queue the turn of the next summary that is due, if any."""
    agent = runtime.home.agents.get(agent_id).agent
    if runtime.rules.compact_every <= 0 or not agent.answers:
        return
    library, now = StoredSummaries(runtime.home.facts, agent_id), runtime.clock.now()
    causes: tuple[str, ...] = (session_id,)
    stretch = _lines(runtime, agent, session_id)
    ledger: tuple[Document, SummaryAttempts] = library.compaction(session_id)
    if stretch is None:
        period = _period(runtime.home.facts, runtime.clock, library)
        if period is None:
            return
        stretch, causes = SummaryStretch(period.span, key=period.key), period.parts
        ledger = library.load_summary_index()
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
        runtime.home.facts.commit(library.failure_document(stretch, session_id, opened.note, now))
    enqueue_turn(runtime.home, opened)


def _lines(runtime: Runtime, agent: Agent, session_id: str) -> SummaryStretch | None:
    """Return the next range of lines to summarize, or None if there are too few.

    Skipped ranges that are retried come first. A range without speech, or whose lines are all
    erased, is passed without a summary.
    """
    library, journal = StoredSummaries(runtime.home.facts, agent.id), runtime.home.journal
    session, every = runtime.home.sessions.get(session_id), runtime.rules.compact_every
    while True:
        stored, compaction = library.compaction(session_id)
        if not compaction.may_try(runtime.clock.now()):
            return None
        gap = compaction.gap_to_retry
        first = gap.first if gap else compaction.done + 1
        end = gap.last if gap else (compaction.done // every + 1) * every
        lines = journal.lines(session_id, after=first - 1, before=end + 1, limit=end - first + 1)
        if gap is None and (not lines or lines[-1].sequence < end):
            return None
        rows = (memory_search_row_of_line(line, session, agent.id) for line in lines)
        spoken = [row for row in rows if row is not None and row.kind is RowKind.SPEECH]
        if spoken:
            last = end if gap else _last(runtime.models, runtime.rules, agent, spoken, end)
            return SummaryStretch(SummarySpan.TOPIC, first=first, last=last)
        passed = compaction.succeeded(runtime.clock.now()).without_gap(first)
        passed = passed.replaced(done=max(compaction.done, end))
        runtime.home.facts.commit(stored.with_body(passed))


def _last(models: Models, rules: Rules, agent: Agent, spoken: list[SearchRow], end: int) -> int:
    """Return the last line of a range that fits the model's input."""
    room = summary_source_room(models, rules, agent)
    used = summary_source_tokens(summary_source_of_row(spoken[0], room))
    for row in spoken[1:]:
        used += summary_source_tokens(summary_source_of_row(row, room))
        if used > room:
            return row.sequence - 1
    return end


def _period(facts: Documents, clock: Clock, library: StoredSummaries) -> SummaryPeriod | None:
    """Return the day or month whose summary is due; drop those whose parts no longer exist."""
    while True:
        stored, shelf = library.load_summary_index()
        now = clock.now()
        period = shelf.next_period(now) if shelf.may_try(now) else None
        if period is None or library.summaries(period.parts):
            return period
        emptied = shelf.without_parts(period.key, set(period.parts))
        facts.commit(stored.with_body(emptied))
