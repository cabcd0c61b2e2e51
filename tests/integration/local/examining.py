"""What must hold of an installation that was killed often and has come to rest."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from opencrab.adapters.local_files import LocalBlobs, LocalFiles
from opencrab.adapters.sqlite.home import open_sqlite_home
from opencrab.adapters.system_clock import SystemClock
from opencrab.domain.conversation.message import Line
from opencrab.domain.learning.review_period import NIGHT, NightlyRun
from opencrab.domain.memory.summary import (
    COMPACTION,
    SUMMARY,
    CompactionState,
    Summary,
    SummarySpan,
)
from opencrab.domain.money.budget import (
    INSTALLATION,
    Limits,
    Price,
    Usage,
    agent_budget_scope,
)
from opencrab.domain.turn.record import CallState
from opencrab.domain.turn.turn import TurnStatus
from opencrab.domain.usage.ledger import UsageRow
from opencrab.ports.home import Home
from opencrab.ports.paging import paginate
from tests.integration.local.killing import COMPACT_EVERY, MODEL, Installation
from tests.integration.local.vendor import KEY, OUTPUT_TOKENS

# Of MODEL, as its maker publishes them: the bill that the ledger is held against is not its own.
PRICE = Price(input_per_million=250_000, output_per_million=2_000_000)
_PERIOD = re.compile(r"\d{4}-(?:\d\d-\d\d|W\d\d)")


@dataclass(frozen=True)
class Figures:
    """What there was, to be told."""

    messages: int
    calls: int
    lost_calls: int
    summaries: int
    nights: int
    worded: int
    spent_micro_usd: int
    billed_micro_usd: int


@contextmanager
def home_at(data: Path) -> Iterator[Home]:
    """The stores of a data folder in which nothing runs."""
    files, blobs = LocalFiles(data), LocalBlobs(data)
    home, database = open_sqlite_home(data, SystemClock(), files=files, blobs=blobs)
    try:
        yield home
    finally:
        database.close()


def examine(up: Installation) -> Figures:
    """Hold everything against what its people, its vendor and its Discord know."""
    with home_at(up.data) as home:
        sessions = _answers(up, home)
        _discord(up, home)
        summaries = sum(_summaries(home, *session) for session in sessions.items())
        nights, worded = _nights(up, home)
        rows = [row for agent_id in up.agents for row in rows_of(home, agent_id)]
        lost, spent, billed = _money(up, home, rows)
        assert home.turns.list_dead_letters(10) == home.compactions.list_dead_letters(10) == ()
        assert home.nights.list_dead_letters(10) == home.deliveries.list_dead_letters(10) == ()
    messages = sum(len(person.acknowledged) for person in up.people)
    return Figures(messages, len(up.vendor.asked), lost, summaries, nights, worded, spent, billed)


def rows_of(home: Home, agent_id: str) -> tuple[UsageRow, ...]:
    """All calls of an agent."""
    key = lambda row: row.id  # noqa: E731
    return tuple(paginate(home.usage.rows, agent_id, limit=500, key=key, oldest_first=True))


def lines_of(home: Home, session_id: str) -> tuple[Line, ...]:
    """All lines of a session."""
    key = lambda line: line.sequence  # noqa: E731
    return tuple(paginate(home.journal.lines, session_id, after=0, limit=500, key=key))


def _answers(up: Installation, home: Home) -> dict[str, str]:
    """Every acknowledged message is there once and has one answer; the agent of each session."""
    return dict(answered_once(home, person.acknowledged) for person in up.people)


def answered_once(home: Home, acknowledged: Mapping[str, str]) -> tuple[str, str]:
    """Each of one person's messages is there once and has one answer; the session and its agent."""
    turns = {key: home.journal.header(turn) for key, turn in acknowledged.items()}
    assert {turn.status for turn in turns.values()} == {TurnStatus.COMPLETED}, turns
    ((session_id, agent_id),) = {(turn.session_id, turn.agent_id) for turn in turns.values()}
    said, answered = Counter[str](), Counter[str]()
    for line in lines_of(home, session_id):
        (answered if line.from_agent else said).update(KEY.findall(line.text))
    once = dict.fromkeys(turns, 1)
    assert {key: said[key] for key in turns} == once
    assert {key: answered[key] for key in turns} == once
    # What was never acknowledged may have been taken all the same, but once.
    assert set(said.values()) | set(answered.values()) == {1}
    return session_id, agent_id


def _discord(up: Installation, home: Home) -> None:
    """Each answer is shown once, in its channel."""
    shown = Counter[str]()
    for message in up.discord.world.messages.values():
        if message.author.is_bot and not message.deleted:
            shown.update(KEY.findall(message.content))
    asked = [person for person in up.people if person.prefix.startswith("D")]
    assert {shown[key] for person in asked for key in person.acknowledged} == {1}
    assert set(shown.values()) == {1}
    assert not up.discord.complaints, up.discord.complaints
    assert home.outbox.list_unsent(SystemClock().now() + timedelta(days=1), 10) == ()


def _summaries(home: Home, session_id: str, agent_id: str) -> int:
    """Every stretch of a session has one summary, without a gap; their number."""
    fact = home.facts.get(agent_id, COMPACTION, session_id)
    assert fact is not None, f"session {session_id} has no summary"
    state = fact.read(CompactionState)
    kept = [each.read(Summary) for each in paginate(home.facts.page, agent_id, SUMMARY)]
    topics = [
        each for each in kept if each.span is SummarySpan.TOPIC and each.session_id == session_id
    ]
    ends = sorted((source.first, source.last) for each in topics for source in each.sources)
    assert [first for first, _ in ends] == [1, *(last + 1 for _, last in ends[:-1])]
    assert (state.done, state.gaps, state.passed) == (ends[-1][1], (), 0)
    newest = lines_of(home, session_id)[-1].sequence
    assert newest - state.done < 3 * COMPACT_EVERY
    for span, name in ((SummarySpan.DAY, "%Y-%m-%d"), (SummarySpan.MONTH, "%Y-%m")):
        # A stretch belongs to the day on which it ended.
        periods = [each for each in kept if each.span is span]
        ended = Counter(each.until.strftime(name) for each in periods)
        assert set(ended.values()) <= {1}, ended
        parts = Counter(part for each in periods for part in each.parts)
        assert set(parts.values()) <= {1}, parts
    return len(topics)


def _nights(up: Installation, home: Home) -> tuple[int, int]:
    """Every active agent has one finished night for each day, and one report; words at most once.

    Returns the number of nights, and of reports that a model has put into words.
    """
    nights = 0
    for agent_id in up.agents:
        runs = {each.id: each.read(NightlyRun) for each in home.facts.page(agent_id, NIGHT)}
        assert all(run.done_at for run in runs.values())
        days = {row.at.date().isoformat() for row in rows_of(home, agent_id)}
        over = sorted(days)[: up.day - 2]
        assert {f"daily-{day}" for day in over} <= runs.keys()
        listed = home.files.list(agent_id, "reports/learning")
        names = Counter(Path(each.path).name for each in listed)
        assert len(names) == 2 * len(runs), (names, runs.keys())
        nights += len(runs)
    asked = Counter(
        (
            each.body["messages"][0]["content"],
            *_PERIOD.findall(each.body["messages"][-1]["content"])[:1],
        )
        for each in up.vendor.asked
        if each.kind == "words"
    )
    assert set(asked.values()) <= {1}, asked
    return nights, len(asked)


def _money(up: Installation, home: Home, rows: list[UsageRow]) -> tuple[int, int, int]:
    """The bill is the vendor's, but for calls that a kill struck: they are charged in full.

    Returns the number of lost calls, what was spent, and what the vendor bills.
    """
    known = {row.usage.input_tokens: row for row in rows if row.usage.is_counted}
    unknown = [row for row in rows if not row.usage.is_counted]
    assert len(known) + len(unknown) == len(rows)
    assert {row.model for row in rows} == {MODEL}
    assert {row.state for row in known.values()} == {CallState.COMPLETED}
    assert {row.state for row in unknown} <= {CallState.UNKNOWN}
    assert all(row.cost == PRICE.cost(row.usage) for row in known.values())
    assert all(row.cost == row.reserved for row in unknown)
    asked = {each.input_tokens for each in up.vendor.asked}
    assert known.keys() <= asked
    lost = len(asked) - len(known)
    assert lost <= len(unknown) <= sum(kill.running for kill in up.kills)
    spent = sum(row.cost for row in rows)
    billed = sum(_price(input_tokens) for input_tokens in asked)
    assert billed <= spent
    _budgets(home, rows)
    return lost, spent, billed


def _price(input_tokens: int) -> int:
    return PRICE.cost(Usage(input_tokens=input_tokens, output_tokens=OUTPUT_TOKENS))


def _budgets(home: Home, rows: list[UsageRow]) -> None:
    """What the budgets of each day hold is the sum of its calls, and within its limit."""
    limits, drawn = Limits(), defaultdict[tuple[str, str], int](int)
    for row in rows:
        day = row.at.date().isoformat()
        drawn[agent_budget_scope(row.agent_id), day] += row.cost
        drawn[INSTALLATION, day] += row.cost
    for (scope, day), cost in drawn.items():
        most = (
            limits.installation_day_micro_usd if scope == INSTALLATION else limits.agent_day(None)
        )
        assert home.budgets.drawn_micro_usd(scope, day) == cost <= most
