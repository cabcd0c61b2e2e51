"""Usage from tallies: the same as the sum of the ledger's rows, whichever release counted them."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencrab.domain.models.routing import Use
from opencrab.domain.money.budget import Usage
from opencrab.domain.turn.record import CallState
from opencrab.domain.usage.ledger import Grouping, Judgement, Period, Settlement, UsageRow
from opencrab.engine.insight.costs import costs_for_insight
from opencrab.engine.money.budgets import budget_limits
from opencrab.engine.money.reconciliation import calls_with_money_reserved
from opencrab.engine.runtime import Runtime
from opencrab.ports.home import Home
from tests.contract.example import running, step, usage_row
from tests.contract.homes import DISTINCT_HOMES, OpenHome
from tests.soak import examples
from tests.unit.engine.known_world import NOW, World, opened
from tests.usage_sums import groups_of_rows, sum_of_rows

AGENT = "mika"
DAYS = 45
SECONDS = int(timedelta(days=DAYS).total_seconds())
FILE = "opencrab.db"
EARLY = "DELETE FROM item WHERE pk LIKE 'TALLY#%' AND sk<?"
LITTLE = (
    "UPDATE item SET expires_at=1, body=json_remove(body, '$.counts.full',"
    " '$.counts.unconfirmed', '$.counts.rated', '$.counts.quality')"
    " WHERE pk LIKE 'TALLY#%' AND sk<?"
)


class CountingLedger:
    """A ledger that counts the rows that are read of it."""

    def __init__(self, ledger: Any) -> None:
        self._ledger = ledger
        self.read = 0

    def rows(self, *args: Any, **wanted: Any) -> tuple[UsageRow, ...]:
        found: tuple[UsageRow, ...] = self._ledger.rows(*args, **wanted)
        self.read += len(found)
        return found


def counting(runtime: Runtime) -> tuple[Runtime, CountingLedger]:
    ledger = CountingLedger(runtime.home.usage)
    usage: Any = ledger
    return replace(runtime, home=replace(runtime.home, usage=usage)), ledger


CALLS = st.lists(
    st.builds(
        usage_row,
        n=st.integers(1, 9_999),
        agent_id=st.just(AGENT),
        at=st.integers(0, SECONDS).map(lambda seconds: NOW - timedelta(seconds=seconds)),
        model=st.sampled_from(["花:model/1", "gpt-5-mini"]),
        purpose=st.sampled_from([Use.CONVERSATION, Use.ANALYSIS]),
        task_type=st.sampled_from(["会話", "code"]),
        complexity=st.sampled_from([0.0, 0.5, 1.0]),
        state=st.sampled_from([CallState.COMPLETED, CallState.FAILED, CallState.UNKNOWN]),
        usage=st.sampled_from([Usage(), Usage(input_tokens=7, output_tokens=-3, cached_tokens=2)]),
        cost=st.integers(0, 10**9),
        latency_ms=st.none() | st.integers(0, 10**6),
        first_token_ms=st.none() | st.integers(0, 10**6),
    ),
    max_size=14,
    unique_by=lambda row: row.n,
)


def count(home: Home, rows: Sequence[UsageRow]) -> None:
    current = running(home, "t1", "others")
    for row in rows:
        current = home.journal.commit(step(current, usage=(row,)))


def change(home: Home, row: UsageRow, number: int) -> UsageRow:
    """Rate a call, or settle what is unconfirmed of it."""
    if number % 3 == 1:
        return home.usage.judge(AGENT, row.id, Judgement(quality_score=number % 11 / 10))
    if number % 3 == 2 and row.unconfirmed_micro_usd:
        settlement = Settlement(cost=number, held=row.cost, by="所有者", at=NOW)
        return home.usage.settle(AGENT, row.id, settlement)
    return row


def assert_reports_are_the_sums(runtime: Runtime, rows: Sequence[UsageRow]) -> None:
    for period in Period:
        since = period.since(runtime.clock.now())
        inside = [row for row in rows if since is None or row.at >= since]
        found = costs_for_insight(runtime, AGENT, period, tuple(Grouping))
        assert found.complete
        assert found.total == sum_of_rows(inside)
        for by, groups in found.groups.items():
            assert groups == groups_of_rows(inside, by)
        held = calls_with_money_reserved(runtime, AGENT, period)
        assert held.complete
        assert sorted(row.id for row in held.calls) == sorted(
            row.id for row in inside if row.unconfirmed_micro_usd
        )
    agent = runtime.home.agents.get(AGENT).agent
    today = [row for row in rows if row.at.date() == runtime.clock.now().date()]
    assert budget_limits(runtime, agent).unconfirmed_micro_usd == (
        sum_of_rows(today).unconfirmed_micro_usd
    )


@given(
    rows=CALLS,
    changes=st.lists(st.integers(0, 100), min_size=14, max_size=14),
    early=st.tuples(st.integers(0, DAYS), st.integers(0, DAYS)),
    hour=st.integers(0, 23),
)
@settings(max_examples=examples(25), deadline=None)
def test_reports_are_the_sums_of_the_rows_whichever_release_counted_them(
    rows: list[UsageRow], changes: list[int], early: tuple[int, int], hour: int
) -> None:
    with TemporaryDirectory() as folder, opened(Path(folder)) as world:
        home = world.runtime.home
        count(home, rows)
        uncounted, little = sorted((NOW - timedelta(days=day)).date() for day in early)
        numbered = list(zip(rows, changes, strict=False))
        changed = [change(home, row, number) for row, number in numbered[::2]]
        counted_early(Path(folder), uncounted.isoformat(), little.isoformat())
        changed += [change(home, row, number) for row, number in numbered[1::2]]
        world.clock.advance(hour * 3_600)
        assert_reports_are_the_sums(world.runtime, changed)
        runtime, ledger = counting(world.runtime)
        costs_for_insight(runtime, AGENT, Period.ALL, ())
        assert ledger.read == 0, "all is counted now"


def counted_early(folder: Path, uncounted: str, little: str) -> None:
    """Leave what early releases counted: nothing before one day, less before another."""
    with closing(sqlite3.connect(folder / FILE)) as connection:
        connection.execute(LITTLE, (little,))
        connection.execute(EARLY, (uncounted,))
        connection.commit()


@pytest.mark.parametrize("opens", DISTINCT_HOMES)
def test_reports_are_the_sums_on_each_home(opens: OpenHome, tmp_path: Path) -> None:
    states = (CallState.COMPLETED, CallState.FAILED, CallState.UNKNOWN)
    rows = [
        usage_row(
            n,
            agent_id=AGENT,
            at=NOW - timedelta(hours=n * 5),
            model="花:model/1" if n % 2 else "gpt-5-mini",
            state=states[n % 3],
            usage=Usage(input_tokens=n % 2),
            cost=n * 1_000,
        )
        for n in range(1, 25)
    ]
    with opened(tmp_path / "world") as world, opens(tmp_path / "home", world.clock) as home:
        home.agents.create(world.runtime.home.agents.get(AGENT))
        count(home, rows)
        changed = [change(home, row, number) for number, row in enumerate(rows)]
        assert_reports_are_the_sums(replace(world.runtime, home=home), changed)


def test_a_report_reads_the_rows_of_no_whole_day(world: World) -> None:
    rows = [
        usage_row(n, agent_id=AGENT, at=NOW - timedelta(hours=6 * n), cost=n) for n in range(1, 60)
    ]
    count(world.runtime.home, rows)
    runtime, ledger = counting(world.runtime)
    for period, most in ((Period.ALL, 0), (Period.LAST_MONTH, 2), (Period.LAST_WEEK, 2)):
        ledger.read = 0
        costs_for_insight(runtime, AGENT, period, ())
        assert ledger.read <= most


def test_what_early_releases_counted_is_counted_anew_in_parts(world: World, tmp_path: Path) -> None:
    rows = [
        usage_row(
            n,
            agent_id=AGENT,
            at=NOW - timedelta(days=n // 3),
            state=CallState.UNKNOWN,
            usage=Usage(),
            cost=n,
        )
        for n in range(1, 16)
    ]
    count(world.runtime.home, rows)
    counted_early(tmp_path, "2026-02-14", "2026-03-01")
    found = [costs_for_insight(world.runtime, AGENT, Period.ALL, (), most=4) for _ in range(4)]
    assert [each.complete for each in found] == [False, False, True, True]
    assert found[-1].total == sum_of_rows(rows)
    assert found[0].total.unconfirmed_micro_usd < found[1].total.unconfirmed_micro_usd
