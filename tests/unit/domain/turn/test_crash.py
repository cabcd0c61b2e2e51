"""The rule of crashes: company makes suspects, being alone makes evidence, time makes it count."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.turn.crash import CRASH_RULE, CrashRule
from opencrab.domain.turn.turn import CRASHES_WITHOUT_PROGRESS, DELIVERIES_WITHOUT_PROGRESS, Turn
from tests.contract.example import turn

DIED = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)
FAIR = CRASH_RULE.fair_seconds


def running(seconds: float, **fields: Any) -> Turn:
    """A turn whose step had run so long when its process died."""
    began = DIED - timedelta(seconds=seconds)
    lease = began + timedelta(seconds=CRASH_RULE.lease_seconds)
    return turn(**{"deliveries": 1, "lease_until": lease, **fields})


def judged(*turns: Turn) -> list[tuple[int, int]]:
    """Crashes and deliveries of turns that ran when their process died."""
    return [(each.crashes, each.deliveries) for each in CRASH_RULE.turns_after_crash(turns, DIED)]


@pytest.mark.parametrize("seconds", [0.0, FAIR, FAIR * 2])
def test_with_company_all_become_suspects_and_nothing_counts(seconds: float) -> None:
    assert judged(running(seconds), running(0.1)) == [(1, 0), (1, 0)]
    assert judged(running(seconds)) == [(1, 0)]


def test_a_death_alone_counts_once_the_turn_had_its_fair_time() -> None:
    assert judged(running(FAIR, crashes=1)) == [(2, 1)]
    assert judged(running(FAIR - 0.1, crashes=1)) == [(2, 0)]


def test_a_turn_that_stood_aside_while_a_suspect_ran_alone_is_none() -> None:
    assert judged(running(FAIR * 2), running(1.0, crashes=3)) == [(0, 0), (4, 0)]


def test_a_death_after_a_result_takes_no_delivery_away() -> None:
    assert judged(running(1.0, deliveries=0)) == [(1, 0)]


def test_a_step_whose_beginning_or_end_is_unknown_is_taken_for_a_short_one() -> None:
    assert judged(running(0.0, crashes=1, lease_until=None)) == [(2, 0)]
    assert judged(running(-60.0, crashes=1)) == [(2, 0)]


def test_pauses_double_up_to_the_longest() -> None:
    rule = CrashRule(pause_seconds=2, longest_pause_seconds=20)
    pauses = [rule.start_delay(turn(crashes=crashes)).total_seconds() for crashes in range(7)]
    assert pauses == [0, 2, 4, 8, 16, 20, 20]
    assert rule.start_delay(turn(crashes=10**6)).total_seconds() == 20


@given(st.lists(st.booleans(), max_size=40))
def test_whoever_never_runs_alone_is_never_hopeless(with_result: list[bool]) -> None:
    header = turn()
    for ended in with_result:
        header = header.with_claim(lease_until=DIED, receipt=None)
        (header, _) = CRASH_RULE.turns_after_crash(
            (header.replaced(crashes=0), running(FAIR)), DIED
        )
        assert not header.give_up_reason
        if ended:
            header = header.replaced(crashes=0, deliveries=0)


@given(st.lists(st.floats(0, 400), min_size=CRASHES_WITHOUT_PROGRESS, max_size=20))
def test_whoever_kills_each_time_alone_is_hopeless_in_bounded_attempts(steps: list[float]) -> None:
    (header,) = CRASH_RULE.turns_after_crash((running(1.0),), DIED)
    attempts = 0
    for seconds in steps:
        header = header.with_claim(lease_until=running(seconds).lease_until or DIED, receipt=None)
        if header.give_up_reason:
            break
        attempts += 1
        (header,) = CRASH_RULE.turns_after_crash((header,), DIED)
    assert header.with_claim(lease_until=DIED, receipt=None).give_up_reason
    assert DELIVERIES_WITHOUT_PROGRESS <= attempts <= CRASHES_WITHOUT_PROGRESS


def test_a_header_tells_of_crashes_only_where_there_are_some() -> None:
    assert "crashes" not in turn().model_dump_json()
    assert Turn.model_validate_json(turn(crashes=2).model_dump_json()).crashes == 2
