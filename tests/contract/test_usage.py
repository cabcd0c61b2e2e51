"""The usage ledger: a row for each call of a model, by agent and time, which is judged once."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.errors import Conflict, Invalid, NotFound, Superseded
from opencrab.domain.models.fault import Fault
from opencrab.domain.turn.record import CallState
from opencrab.domain.usage.ledger import Judgement, UsageRow
from opencrab.ports.home import Home
from tests.contract.example import ENGLISH, JAPANESE, NOW, profile, running, step, usage_row
from tests.contract.homes import OpenHome
from tests.soak import examples

TIMES = [
    datetime(2026, 1, 1, tzinfo=UTC),
    datetime(2026, 1, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(2026, 2, 1, tzinfo=UTC),
    datetime(2026, 2, 10, 12, 30, tzinfo=UTC),
    NOW - timedelta(microseconds=1),
    NOW,
]


def write(home: Home, *rows: UsageRow) -> None:
    """Rows as a turn writes them; a turn that runs already goes on."""
    try:
        current = home.journal.header("t1")
    except NotFound:
        current = running(home)
    home.journal.commit(step(current, usage=rows))


def ids(rows: tuple[UsageRow, ...]) -> list[int]:
    return [row.n for row in rows]


@pytest.fixture
def calls(home: Home) -> Home:
    """Six calls in two months, numbered by time."""
    write(home, *(usage_row(n, at=at) for n, at in enumerate(TIMES, 1)))
    return home


def test_an_agent_that_never_thought_has_no_rows(home: Home) -> None:
    home.agents.create(profile())
    assert home.usage.rows("hana") == ()
    assert home.usage.rows("誰か") == ()


def test_a_row_comes_back_as_it_was_written(home: Home) -> None:
    judged = usage_row(
        2,
        at=NOW + timedelta(seconds=1),
        quality_score=0.8,
        task_success=True,
        self_evaluation=f"{JAPANESE}\n{ENGLISH}",
        would_use_again=False,
        better_model_suggestion="もっと賢いモデル",
    )
    failed = usage_row(
        3,
        at=NOW + timedelta(seconds=2),
        state=CallState.UNKNOWN,
        fault=Fault.TIMEOUT,
        price=None,
        latency_ms=None,
        first_token_ms=None,
    )
    write(home, usage_row(1), judged, failed)
    assert home.usage.rows("hana") == (failed, judged, usage_row(1))
    for row in (failed, judged, usage_row(1)):
        assert home.usage.row("hana", row.id) == row


def test_rows_are_read_newest_first_over_the_months(calls: Home) -> None:
    assert ids(calls.usage.rows("hana")) == [6, 5, 4, 3, 2, 1]


SPANS: list[tuple[datetime | None, datetime | None, list[int]]] = [
    (None, None, [6, 5, 4, 3, 2, 1]),
    (TIMES[2], None, [6, 5, 4, 3]),
    (TIMES[1], TIMES[2], [2]),
    (None, TIMES[2], [2, 1]),
    (TIMES[5], TIMES[5], []),
    (TIMES[5], TIMES[0], []),
    (datetime(1970, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC), [6, 5, 4, 3, 2, 1]),
    (datetime(2030, 1, 1, tzinfo=UTC), None, []),
]


def test_a_span_has_its_beginning_and_not_its_end(calls: Home) -> None:
    for since, until, found in SPANS:
        assert ids(calls.usage.rows("hana", since=since, until=until)) == found
        up = calls.usage.rows("hana", since=since, until=until, oldest_first=True)
        assert ids(up) == found[::-1]


def test_pages_follow_each_other_without_gap_or_repeat(calls: Home) -> None:
    for size in (1, 2, 3, 4, 6, 7):
        seen: list[int] = []
        after = None
        while page := calls.usage.rows("hana", after=after, limit=size):
            assert len(page) <= size
            seen += ids(page)
            after = page[-1].id
        assert seen == [6, 5, 4, 3, 2, 1]


def test_pages_the_other_way_round_follow_each_other_as_well(calls: Home) -> None:
    for size in (1, 2, 3, 4, 6, 7):
        for since, until, found in SPANS:
            seen: list[int] = []
            after = None
            while page := calls.usage.rows(
                "hana", since=since, until=until, after=after, limit=size, oldest_first=True
            ):
                assert len(page) <= size
                seen += ids(page)
                after = page[-1].id
            assert seen == found[::-1]


def test_what_is_written_later_comes_after_a_place(calls: Home) -> None:
    (*_, last) = calls.usage.rows("hana", oldest_first=True)
    assert calls.usage.rows("hana", after=last.id, oldest_first=True) == ()
    later = usage_row(7, at=NOW + timedelta(seconds=1))
    write(calls, later)
    assert calls.usage.rows("hana", after=last.id, oldest_first=True) == (later,)
    gone = last.id.replace("-0006", "-0005")
    assert ids(calls.usage.rows("hana", after=gone, oldest_first=True)) == [6, 7]


def test_no_rows_are_no_rows(calls: Home) -> None:
    for limit in (0, -1):
        for up in (False, True):
            assert calls.usage.rows("hana", limit=limit, oldest_first=up) == ()


def test_calls_of_the_same_moment_are_rows_of_their_own(home: Home) -> None:
    write(home, usage_row(1), usage_row(2), usage_row(10), usage_row(1, turn_id="t0"))
    assert [(row.turn_id, row.n) for row in home.usage.rows("hana")] == [
        ("t1", 10),
        ("t1", 2),
        ("t1", 1),
        ("t0", 1),
    ]
    up = home.usage.rows("hana", oldest_first=True)
    assert up == home.usage.rows("hana")[::-1]
    pages = [home.usage.rows("hana", after=row.id, oldest_first=True) for row in up]
    assert pages == [up[n + 1 :] for n in range(len(up))]


def test_agents_have_rows_of_their_own(home: Home) -> None:
    ken = usage_row(2, agent_id="ken")
    write(home, usage_row(1), ken)
    assert home.usage.rows("ken") == (ken,)
    with pytest.raises(NotFound):
        home.usage.row("hana", ken.id)


NO_IDS = ["", "x", "花", "\ud83e", "x" * 5_000, "٢٠٢٦"]


def test_a_row_that_is_not_there_is_not_found(calls: Home) -> None:
    for row_id in (*NO_IDS, "20260217T090000.000000Z-t9-0001"):
        with pytest.raises(NotFound):
            calls.usage.row("hana", row_id)


def test_a_page_after_something_else_is_invalid(calls: Home) -> None:
    for after in NO_IDS:
        for up in (False, True):
            with pytest.raises(Invalid) as refusal:
                calls.usage.rows("hana", after=after, oldest_first=up)
            assert refusal.value.field == "after"
    for after, found in (("00000000T", [1, 2, 3, 4, 5, 6]), ("99999999T", [])):
        place = f"{after}000000.000000Z-t1-0001"
        assert ids(calls.usage.rows("hana", after=place, oldest_first=True)) == found


def test_a_row_that_is_there_is_never_written_over(home: Home) -> None:
    write(home, usage_row(1))
    with pytest.raises(Superseded):
        write(home, usage_row(1, cost=1))
    assert home.usage.rows("hana") == (usage_row(1),)


def test_rows_from_before_an_agents_creation_by_another_clock_are_found(home: Home) -> None:
    home.agents.create(profile(created_at=datetime(2026, 2, 1, tzinfo=UTC)))
    write(home, usage_row(1, at=datetime(2026, 1, 31, 23, 59, tzinfo=UTC)))
    assert ids(home.usage.rows("hana")) == ids(home.usage.rows("hana", oldest_first=True)) == [1]


MOMENTS = st.datetimes(
    datetime(2026, 1, 1),  # noqa: DTZ001  # hypothesis adds the zone itself
    datetime(2026, 2, 17, 9),  # noqa: DTZ001
    timezones=st.just(UTC),
)


def test_any_span_shows_exactly_its_rows(opens: OpenHome, tmp_path: Path) -> None:
    with opens(tmp_path, FakeClock(NOW)) as home:
        written = [usage_row(n, at=at) for n, at in enumerate(TIMES, 1)]
        write(home, *written)

        @settings(max_examples=examples(30))
        @given(since=st.none() | MOMENTS, until=st.none() | MOMENTS, limit=st.integers(0, 7))
        def check(since: datetime | None, until: datetime | None, limit: int) -> None:
            expected = [
                row
                for row in reversed(written)
                if (since is None or since <= row.at) and (until is None or row.at < until)
            ]
            found = home.usage.rows("hana", since=since, until=until, limit=limit)
            assert list(found) == expected[:limit]
            up = home.usage.rows("hana", since=since, until=until, limit=limit, oldest_first=True)
            assert list(up) == expected[::-1][:limit]

        check()


GRADE = Judgement(
    quality_score=0.9,
    task_success=True,
    self_evaluation=f"{JAPANESE}\n{ENGLISH}",
    would_use_again=True,
    better_model_suggestion="花:model",
)


def test_an_answer_is_judged_once_and_nothing_else_of_its_row_changes(home: Home) -> None:
    write(home, usage_row(1), usage_row(2, agent_id="ken"))
    tallies = home.tallies.between("hana", "2026-01-01", "2027-01-01")
    judged = home.usage.judge("hana", usage_row(1).id, GRADE)
    assert judged == usage_row(1, **dict(GRADE))
    assert home.usage.row("hana", judged.id) == judged
    assert home.usage.rows("hana") == (judged,)
    assert home.usage.judge("hana", judged.id, GRADE) == judged, "the same again is no change"
    for other in (GRADE.replaced(quality_score=1.0), GRADE.replaced(task_success=None)):
        with pytest.raises(Conflict) as refusal:
            home.usage.judge("hana", judged.id, other)
        assert refusal.value.field == "metrics_id"
    assert home.usage.row("hana", judged.id) == judged
    (before,), (after,) = tallies, home.tallies.between("hana", "2026-01-01", "2027-01-01")
    rating = {"rated": 1, "quality": 900_000}
    assert after == before.replaced(counts=before.counts | rating)


def test_nobody_judges_what_is_not_his_or_not_there(home: Home) -> None:
    write(home, usage_row(1), usage_row(2, agent_id="ken"))
    for row_id in (*NO_IDS, usage_row(2).id, usage_row(3).id):
        with pytest.raises(NotFound):
            home.usage.judge("hana", row_id, GRADE)
    assert home.usage.rows("ken") == (usage_row(2, agent_id="ken"),)


def test_the_words_of_a_judgement_are_taken_away_and_its_marks_stay(home: Home) -> None:
    write(home, usage_row(1), usage_row(2), usage_row(3, agent_id="ken"))
    judged = home.usage.judge("hana", usage_row(1).id, GRADE)
    for _ in range(2):
        for row in (judged, usage_row(2)):
            home.usage.redact_evaluation("hana", row.id)
        assert home.usage.rows("hana") == (usage_row(2), judged.replaced(self_evaluation=None))
    for row_id in (*NO_IDS, usage_row(3).id):
        with pytest.raises(NotFound):
            home.usage.redact_evaluation("hana", row_id)


def test_of_those_who_judge_at_the_same_time_one_is_heard(home: Home) -> None:
    write(home, usage_row(1))

    def judge(tenths: int) -> float | None:
        try:
            grade = GRADE.replaced(quality_score=tenths / 10)
            return home.usage.judge("hana", usage_row(1).id, grade).quality_score
        except Conflict:
            return None

    with ThreadPoolExecutor(4) as pool:
        heard = {score for score in pool.map(judge, range(1, 9)) if score is not None}
    assert heard == {home.usage.row("hana", usage_row(1).id).quality_score}
