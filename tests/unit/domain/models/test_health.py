"""Health: some failures in a row begin a pause, after which one caller tries."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.models.health import FAILURES, BreakerState, record_model_failure

NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def after(*moments: float) -> BreakerState:
    """The health of a provider that failed at these moments."""
    health = None
    for moment in moments:
        health = record_model_failure(health, at(moment))
    assert health is not None
    return health


def pause(health: BreakerState) -> float | None:
    """How long nobody asks it, in seconds."""
    if health.paused_until is None:
        return None
    return (health.paused_until - health.failed_at).total_seconds()


def test_a_few_failures_are_no_pause() -> None:
    ill = after(*range(FAILURES - 1))
    assert (ill.failures, ill.failed_at, pause(ill)) == (FAILURES - 1, at(FAILURES - 2), None)
    assert not ill.is_paused(NOW)
    assert not ill.needs_probe(NOW)


def test_each_pause_is_twice_as_long_up_to_five_minutes() -> None:
    pauses = [pause(after(*range(FAILURES + more))) for more in range(7)]
    assert pauses == [30, 60, 120, 240, 300, 300, 300]


def test_a_failure_long_ago_does_not_count() -> None:
    assert after(0, 1, 601.5).failures == 1
    assert after(0, 1, 601).failures == 3


def test_a_failure_that_leaves_no_doubt_begins_a_pause_at_once() -> None:
    spent = record_model_failure(None, NOW, at_once=True)
    assert (spent.failures, pause(spent)) == (FAILURES, 30)
    again = record_model_failure(spent, at(40), at_once=True)
    assert (again.failures, pause(again)) == (FAILURES + 1, 60)


def test_after_its_pause_a_provider_is_tried_by_one() -> None:
    ill = after(0, 1, 2)
    assert ill.is_paused(at(31.9))
    assert not ill.needs_probe(at(31.9))
    assert not ill.is_paused(at(32))
    assert ill.needs_probe(at(32))
    tried = ill.with_probe(at(32))
    assert tried.is_paused(at(33)), "the others wait"
    assert (tried.failures, tried.failed_at) == (ill.failures, ill.failed_at)
    assert tried.needs_probe(at(62)), "who tried it may have died"


MOMENTS = st.lists(st.floats(0, 2_000), min_size=1, max_size=40).map(sorted)


@given(moments=MOMENTS)
def test_no_pause_is_longer_than_five_minutes(moments: list[float]) -> None:
    ill = after(*moments)
    length = pause(ill)
    assert (length is None) == (ill.failures < FAILURES)
    assert length is None or 30 <= length <= 300
    assert 1 <= ill.failures <= len(moments)


@pytest.mark.parametrize("failures", [FAILURES, 10_000_000])
def test_health_comes_back_from_its_stored_form(failures: int) -> None:
    ill = record_model_failure(BreakerState(failures=failures, failed_at=NOW), at(0.123456))
    assert BreakerState.model_validate_json(ill.model_dump_json()) == ill


def test_a_pause_that_no_rule_gives_is_a_clock_gone_wrong() -> None:
    ahead = BreakerState(failures=9, failed_at=NOW, paused_until=NOW + timedelta(days=30))
    assert not ahead.is_paused(NOW)
    assert ahead.needs_probe(NOW)
