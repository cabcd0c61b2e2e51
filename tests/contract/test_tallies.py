"""Tallies: what the calls of a day came to, counted in the transactions that write their rows."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from functools import reduce

import pytest

from opencrab.domain.errors import Superseded
from opencrab.domain.models.fault import Fault
from opencrab.domain.models.routing import Use
from opencrab.domain.money.budget import Usage
from opencrab.domain.turn.record import CallState
from opencrab.domain.usage.counters import DailyTally, merge_usage_tallies, usage_tally_of_call
from opencrab.domain.usage.ledger import Judgement, UsageRow
from opencrab.ports.home import Home
from tests.contract.example import NOW, running, step, usage_row
from tests.contract.test_usage import write
from tests.usage_sums import sum_of_rows

DAY, LAST = "2026-02-17", "9999-12-31"
TOKYO = timezone(timedelta(hours=9))
NONSENSE = Usage(input_tokens=-7, output_tokens=-1)


def all_of(home: Home, agent_id: str = "hana") -> tuple[DailyTally, ...]:
    return home.tallies.between(agent_id, "2026-01-01", LAST)


def as_counted(rows: Iterable[UsageRow]) -> dict[object, DailyTally]:
    """What should be there, by key."""
    return {tally.key: tally for tally in merge_usage_tallies(map(usage_tally_of_call, rows))}


def found(home: Home, agent_id: str = "hana") -> dict[object, DailyTally]:
    return {tally.key: tally for tally in all_of(home, agent_id)}


def varied(count: int) -> list[UsageRow]:
    """Calls over three days around the end of a month, to two models, of which some fail."""
    begun = datetime(2026, 1, 30, 22, tzinfo=UTC)
    states = (CallState.COMPLETED, CallState.FAILED, CallState.UNKNOWN)
    return [
        usage_row(
            n,
            at=begun + timedelta(hours=n),
            model="花:model/1" if n % 2 else "gpt-5-mini",
            purpose=Use.CONVERSATION if n % 5 else Use.ANALYSIS,
            task_type="会話" if n % 3 else "code",
            complexity=(n % 4) / 4,
            state=states[n % 3],
            cost=n * 1_000,
            latency_ms=None if n % 4 == 0 else n * 10,
            first_token_ms=None if n % 2 else n,
        )
        for n in range(1, count + 1)
    ]


def test_nobody_thought_and_nothing_is_counted(home: Home) -> None:
    assert all_of(home) == all_of(home, "誰か") == ()
    assert home.tallies.active_agents(DAY) == ()


def test_counts_are_what_the_rows_come_to(home: Home) -> None:
    rows = varied(30)
    for start in range(0, len(rows), 6):
        write(home, *rows[start : start + 6])
    assert found(home) == as_counted(rows)
    told = reduce(DailyTally.__add__, all_of(home)).counts
    whole = sum_of_rows(rows)
    assert (told["calls"], told["answered"]) == (whole.calls, whole.answered)
    assert (told["failed"], told["unknown"]) == (whole.failed, whole.unknown)
    assert (told["cost"], told["input"]) == (whole.cost_micro_usd, whole.input_tokens)
    assert round(told["latency"] / told["timed"], 3) == whole.mean_latency_ms
    assert round(told["first"] / told["first_timed"], 3) == whole.mean_first_token_ms
    costs = [told.get(f"c{bits}", 0) for bits in range(60)]
    assert sum(costs) == told["calls"]
    for tally in all_of(home):
        for name in ("calls", "cost", "failed"):
            by_hour = sum(hour.get(name, 0) for hour in tally.hours.values())
            assert by_hour == tally.counts.get(name, 0)


def test_several_calls_of_one_cell_in_one_transaction_all_count(home: Home) -> None:
    rows = [usage_row(n, at=NOW + timedelta(seconds=n)) for n in range(1, 7)]
    write(home, *rows[:4], usage_row(9, agent_id="ken"))
    write(home, *rows[4:])
    (tally,) = all_of(home)
    assert tally == reduce(DailyTally.__add__, map(usage_tally_of_call, rows))
    assert tally.counts["calls"] == tally.hours[NOW.hour]["calls"] == len(rows)
    assert [one.counts["calls"] for one in all_of(home, "ken")] == [1]


def test_days_are_those_of_utc_and_a_span_has_both_its_ends(home: Home) -> None:
    days = ("2026-01-31", "2026-02-01", "2026-02-02")
    moments = [
        datetime(2026, 1, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        datetime(2026, 2, 1, 9, tzinfo=TOKYO),
        datetime(2026, 2, 2, tzinfo=UTC),
    ]
    for n, at in enumerate(moments, 1):
        write(home, usage_row(n, at=at))
    assert [(each.day, list(each.hours)) for each in all_of(home)] == [
        (days[0], [23]),
        (days[1], [0]),
        (days[2], [0]),
    ]
    for first in range(3):
        for last in range(3):
            between = home.tallies.between("hana", days[first], days[last])
            assert [each.day for each in between] == list(days[first : last + 1])


def test_what_nobody_measured_is_missing_and_not_zero(home: Home) -> None:
    nothing = usage_row(
        1,
        usage=Usage(),
        cost=0,
        reserved=0,
        latency_ms=None,
        first_token_ms=None,
        price=None,
        state=CallState.FAILED,
        fault=Fault.TIMEOUT,
    )
    write(home, nothing)
    write(home, nothing.replaced(n=2, latency_ms=0, first_token_ms=-5, usage=NONSENSE))
    (tally,) = all_of(home)
    assert tally.counts == {
        "calls": 2,
        "full": 2,
        "failed": 2,
        "c0": 2,
        "timed": 1,
        "l0": 1,
        "first_timed": 1,
    }
    assert tally.hours == {NOW.hour: {"calls": 2, "failed": 2, "timed": 1}}


def test_calls_that_begin_sessions_are_counted_and_told_by_no_row(home: Home) -> None:
    opening = usage_row(1, opens=True)
    write(home, opening, usage_row(2))
    write(home, usage_row(3, opens=True, model="m", at=NOW + timedelta(hours=1)))
    assert sum(each.counts.get("sessions", 0) for each in all_of(home)) == 2
    assert not any("sessions" in hour for each in all_of(home) for hour in each.hours.values())
    rows = home.usage.rows("hana")
    assert (len(rows), rows[-1]) == (3, opening.replaced(opens=False))


def test_a_row_that_is_refused_counts_nothing(home: Home) -> None:
    write(home, usage_row(1))
    before = all_of(home)
    with pytest.raises(Superseded):
        write(home, usage_row(1, cost=1), usage_row(2))
    assert all_of(home) == before


def test_writers_at_the_same_time_lose_no_count(home: Home) -> None:
    turns = [running(home, f"t{n}", f"s{n}") for n in range(4)]

    def work(place: int) -> None:
        current = turns[place]
        for n in range(1, 6):
            row = usage_row(n, turn_id=current.id, at=NOW + timedelta(minutes=n))
            current = home.journal.commit(step(current, usage=(row,)))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    (tally,) = all_of(home)
    assert (tally.counts["calls"], tally.counts["cost"]) == (20, 20 * 412)
    assert home.tallies.active_agents(DAY) == ("hana",)


def test_active_agents_are_told_in_order_and_page_by_page(home: Home) -> None:
    names = sorted(["hana", "ken", "agent-1", "agent-10", "agent-2", "01JX", "zz_9"])
    for n, name in enumerate(reversed(names), 1):
        write(home, usage_row(n, agent_id=name), usage_row(n + 20, agent_id=name))
    write(home, usage_row(50, agent_id="tomorrow", at=NOW + timedelta(days=1)))
    assert list(home.tallies.active_agents(DAY)) == names
    assert home.tallies.active_agents("2026-02-18") == ("tomorrow",)
    for size in (1, 2, 3, len(names)):
        seen: list[str] = []
        while page := home.tallies.active_agents(DAY, after=seen[-1] if seen else "", limit=size):
            assert len(page) <= size
            seen += page
        assert seen == names
    assert home.tallies.active_agents(DAY, after="agent-11") == home.tallies.active_agents(
        DAY, after="agent-10"
    )


def without_hours(tallies: Iterable[DailyTally]) -> list[DailyTally]:
    return sorted((one.replaced(hours={}) for one in tallies), key=lambda one: str(one.key))


def totals(home: Home) -> list[DailyTally]:
    return sorted(home.tallies.totals("hana", "2026-01-01", LAST), key=lambda one: str(one.key))


def test_totals_are_the_tallies_without_hours(home: Home) -> None:
    write(home, *varied(9))
    assert totals(home) == without_hours(all_of(home))
    assert len(home.tallies.totals("hana", "2026-01-31", "2026-01-31")) == len(
        home.tallies.between("hana", "2026-01-31", "2026-01-31")
    )


@pytest.mark.parametrize("evaluation", ["よい答え", "A good answer"])
def test_a_rating_is_counted_once(home: Home, evaluation: str) -> None:
    rows = [usage_row(1), usage_row(2, at=NOW + timedelta(seconds=1))]
    write(home, *rows)
    rating = Judgement(quality_score=0.7, self_evaluation=evaluation)
    for _ in range(2):
        home.usage.judge("hana", rows[0].id, rating)
    home.usage.judge("hana", rows[1].id, rating.replaced(quality_score=0.0))
    home.usage.redact_evaluation("hana", rows[0].id)
    (tally,) = all_of(home)
    assert (tally.counts["rated"], tally.counts["quality"]) == (2, 700_000)
    assert tally.counts["calls"] == tally.counts["full"] == 2


def test_a_day_that_is_counted_in_full_stays_as_it_is(home: Home) -> None:
    rows = [usage_row(n, at=NOW + timedelta(hours=n)) for n in range(1, 4)]
    write(home, *rows)
    before = all_of(home)
    found = home.tallies.recount("hana", DAY, iter(rows))
    assert without_hours(found) == without_hours(before)
    assert all_of(home) == before


def test_a_day_is_counted_anew_from_its_rows(home: Home) -> None:
    """Rows that nobody counted, as in the first days of OpenCrab."""
    counted, others = usage_row(1), [usage_row(n, cost=n, model="花") for n in range(2, 6)]
    write(home, counted)
    found = home.tallies.recount("hana", DAY, iter([counted, *others]))
    expected = as_counted([counted, *others])
    assert {one.key: one for one in all_of(home)} == expected
    assert without_hours(found) == without_hours(expected.values())


def test_a_cell_of_which_rows_are_missing_keeps_its_counts(home: Home) -> None:
    rows = [usage_row(n, at=NOW + timedelta(seconds=n)) for n in range(1, 4)]
    write(home, *rows)
    before = all_of(home)
    home.tallies.recount("hana", DAY, iter(rows[:1]))
    assert all_of(home) == before


def test_what_is_counted_during_a_recount_stays_counted(home: Home) -> None:
    first, late = usage_row(1), usage_row(2, at=NOW + timedelta(seconds=1))
    uncounted = usage_row(3, at=NOW + timedelta(seconds=2))
    write(home, first)

    def rows() -> Iterator[UsageRow]:
        write(home, late)
        yield from (first, late, uncounted)

    found = home.tallies.recount("hana", DAY, rows())
    assert found[0].counts["calls"] == 3, "told as the rows say"
    assert all_of(home)[0].counts["calls"] == 2, "and not stored"
    home.tallies.recount("hana", DAY, iter((first, late, uncounted)))
    assert found[0] == all_of(home)[0].replaced(hours={})
