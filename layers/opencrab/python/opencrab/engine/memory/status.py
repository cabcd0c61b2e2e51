"""Memory status: the progress of an agent's index and summaries, and what failed."""

from datetime import datetime

from opencrab.domain.memory.summary import (
    COMPACTION,
    SHELF,
    CompactionState,
    Gap,
    PassedOver,
    SummaryIndex,
)
from opencrab.domain.memory.write_policy import MemoryRefusalReason
from opencrab.domain.value import Value
from opencrab.engine.memory.records import memory_count, stored_memory_state_of_agent
from opencrab.ports.documents import Documents
from opencrab.ports.home import Home
from opencrab.ports.memory.search import Search

SESSIONS = 200
"""The most sessions in a status: failing ones first, then the newest."""

_READ = 500
_READS = 10


class IndexStanding(Value):
    """Status of an agent's index; `published_at` is when it was published or updated."""

    backend: str
    rows: int
    bytes: int
    tokenizer: int
    published_at: datetime | None
    published_rows: int | None


class SessionStanding(Value):
    """Progress of a session: its last indexed and its last summarised line.

    `failures` counts consecutive failed summaries, and `error` says why. `gaps` are the newest
    ranges of lines that were skipped after that, `passed` is the number of all that still are.
    """

    session_id: str
    indexed: int = 0
    summarised: int = 0
    failures: int = 0
    error: str = ""
    failed_at: datetime | None = None
    passed: int = 0
    gaps: tuple[Gap, ...] = ()


class PeriodsStanding(Value):
    """Status of the summaries of days and months; `gaps` are periods that were skipped."""

    waiting: int = 0
    failures: int = 0
    error: str = ""
    failed_at: datetime | None = None
    passed: int = 0
    gaps: tuple[PassedOver, ...] = ()


class MemoryStatus(Value):
    """Status of an agent's memory.

    `memories` and `core` count what is stored, `refusals` what was refused, by reason. `failing`
    counts sessions that cannot be summarised, `passed` ranges of lines and periods that were
    skipped; of `all_sessions` at most 200 are listed.
    """

    index: IndexStanding
    memories: int
    core: int
    refusals: dict[MemoryRefusalReason, int]
    failing: int
    passed: int
    periods: PeriodsStanding
    all_sessions: int
    sessions: tuple[SessionStanding, ...]


def memory_status(home: Home, search: Search, agent_id: str) -> MemoryStatus:
    """Return an agent's memory status; raise NotFound, and Unavailable without an index."""
    home.agents.get(agent_id)
    index, gate = search.status(agent_id), memory_count(home.facts, agent_id)
    stands = _compactions(home.facts, agent_id)
    for session_id, last in index.lines:
        known = stands.get(session_id, SessionStanding(session_id=session_id))
        stands[session_id] = known.replaced(indexed=last)
    newest = sorted(stands.values(), key=lambda each: each.session_id, reverse=True)
    newest.sort(key=lambda each: (-each.failures, -each.passed))
    periods = _periods(home.facts, agent_id)
    return MemoryStatus(
        index=IndexStanding(**{name: getattr(index, name) for name in IndexStanding.model_fields}),
        memories=gate.kept,
        core=len(stored_memory_state_of_agent(home.facts, agent_id)[1].core),
        refusals=gate.refused,
        failing=sum(each.failures > 0 for each in newest),
        passed=periods.passed + sum(each.passed for each in newest),
        periods=periods,
        all_sessions=len(newest),
        sessions=tuple(newest[:SESSIONS]),
    )


def _periods(facts: Documents, agent_id: str) -> PeriodsStanding:
    fact = facts.get(agent_id, SHELF, SHELF)
    if fact is None:
        return PeriodsStanding()
    shelf = fact.read(SummaryIndex)
    return PeriodsStanding(
        waiting=len(shelf.periods),
        failures=shelf.failures,
        error=shelf.error,
        failed_at=shelf.failed_at,
        passed=shelf.passed,
        gaps=shelf.gaps,
    )


def _compactions(facts: Documents, agent_id: str) -> dict[str, SessionStanding]:
    stands, after = dict[str, SessionStanding](), ""
    for _ in range(_READS):
        page = facts.page(agent_id, COMPACTION, after=after, limit=_READ)
        for fact in page:
            made = fact.read(CompactionState)
            stands[fact.id] = SessionStanding(
                session_id=fact.id,
                summarised=made.done,
                failures=made.failures,
                error=made.error,
                failed_at=made.failed_at,
                passed=made.passed,
                gaps=made.gaps,
            )
        if len(page) < _READ:
            break
        after = page[-1].id
    return stands
