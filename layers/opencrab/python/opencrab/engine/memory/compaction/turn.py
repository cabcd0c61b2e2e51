"""Compaction: one turn of its own kind makes one summary, paid for like every other model call.

A turn is opened for a stretch of a session, or for a day or month that has passed; its header says
which. What it writes is written when it ends: the summary, and how far its session has come.
"""

import logging
from collections.abc import Mapping

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.agents.agent import Agent, Profile
from opencrab.domain.conversation.session import Session
from opencrab.domain.document import Document
from opencrab.domain.identifier import stable_id
from opencrab.domain.memory.search_row import RowKind, SearchRow, search_row_of_line
from opencrab.domain.memory.summary import PROMPT_VERSION, Span, SummaryAttempts, SummaryPeriod
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
"""Summaries that follow from one wish: a long past is caught up with step by step."""


class SummaryJob(TurnJob):
    """Summaries of stretches of a session, and of days and months that have passed."""

    def opens(self, runtime: Runtime, message: Mapping[str, str]) -> bool:
        if "session" not in message:
            return False
        _open_next(runtime, message["agent"], message["session"], hops=0)
        return True

    def serves(self, turn: Turn) -> bool:
        return turn.trigger is Trigger.COMPACTION

    def prepare(
        self, runtime: Runtime, turn: Turn, profile: Profile
    ) -> tuple[Turn, Session, QuestionJob]:
        session = runtime.home.sessions.get(turn.session_id)
        digest = PendingSummary.of(runtime, turn, profile.agent, session)
        return turn.replaced(taint=digest.draft.tainted), session, digest

    def after(self, runtime: Runtime, turn: Turn) -> None:
        """What follows: the next summary, unless this one failed."""
        made = turn.trigger is Trigger.COMPACTION and turn.status is TurnStatus.COMPLETED
        if made and turn.hops < AT_ONCE:
            _open_next(runtime, turn.agent_id, turn.session_id, hops=turn.hops)


def retry_compaction(runtime: Runtime, agent_id: str, session_id: str) -> None:
    """Try again now what has failed, however often it did, and what was passed over."""
    library = StoredSummaries(runtime.home.facts, agent_id)
    for stored, value in (library.compaction(session_id), library.load_summary_index()):
        if value.failures or value.gaps:
            runtime.home.facts.commit(stored.holding(value.again()))
    request_compaction(
        runtime.home.compactions, agent_id, session_id, f"retry {runtime.clock.now().isoformat()}"
    )


def _open_next(runtime: Runtime, agent_id: str, session_id: str, *, hops: int) -> None:
    """Open and queue the turn of the summary that is due next, if one is."""
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
        runtime.home.facts.commit(library.missed(stretch, session_id, opened.note, now))
    enqueue_turn(runtime.home, opened)


def _lines(runtime: Runtime, agent: Agent, session_id: str) -> SummaryStretch | None:
    """The next lines of a session to be summarised together, when there are enough of them.

    Gaps that are tried again come first. Stretches in which nobody spoke, or all of which is
    forgotten, need no summary.
    """
    library, journal = StoredSummaries(runtime.home.facts, agent.id), runtime.home.journal
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
        rows = (search_row_of_line(line, session, agent.id) for line in lines)
        spoken = [row for row in rows if row is not None and row.kind is RowKind.SPEECH]
        if spoken:
            last = end if gap else _last(runtime.models, runtime.rules, agent, spoken, end)
            return SummaryStretch(Span.TOPIC, first=first, last=last)
        passed = compaction.succeeded(runtime.clock.now()).closing(first)
        passed = passed.replaced(done=max(compaction.done, end))
        runtime.home.facts.commit(stored.holding(passed))


def _last(models: Models, rules: Rules, agent: Agent, spoken: list[SearchRow], end: int) -> int:
    """Where a stretch ends whose words the model takes at once."""
    room = summary_source_room(models, rules, agent)
    used = summary_source_tokens(summary_source_of_row(spoken[0], room))
    for row in spoken[1:]:
        used += summary_source_tokens(summary_source_of_row(row, room))
        if used > room:
            return row.sequence - 1
    return end


def _period(facts: Documents, clock: Clock, library: StoredSummaries) -> SummaryPeriod | None:
    """The day or month whose summary is due, without those of which nothing is left."""
    while True:
        stored, shelf = library.load_summary_index()
        now = clock.now()
        period = shelf.due(now) if shelf.may_try(now) else None
        if period is None or library.summaries(period.parts):
            return period
        emptied = shelf.without_parts(period.key, set(period.parts))
        facts.commit(stored.holding(emptied))
