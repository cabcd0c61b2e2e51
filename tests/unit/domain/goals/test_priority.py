"""What a goal's priority is made of, and when it comes to a threshold."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.agents.soul import Drives
from opencrab.domain.goals.priority import (
    goal_deadline_urgency,
    goal_priority,
    goal_priority_reached_at,
    goal_priority_weights,
)
from opencrab.domain.goals.value_estimate import ValueEstimate

NOW = datetime(2026, 7, 1, tzinfo=UTC)
units = st.floats(0, 1, allow_subnormal=False)
spans = st.timedeltas(timedelta(days=-400), timedelta(days=400))
drives = st.builds(
    Drives,
    risk_tolerance=units,
    collaboration=units,
    depth_vs_breadth=units,
    quality_vs_speed=units,
)
worths = st.builds(
    ValueEstimate,
    expected_reward=units,
    capability_match=st.none() | units,
    novelty=units,
    social_value=units,
)
deadlines = st.none() | spans.map(NOW.__add__)


@given(worth=worths, pressing=units, who=drives)
def test_a_score_is_the_sum_of_its_weighted_terms_as_the_formula_says(
    worth: ValueEstimate, pressing: float, who: Drives
) -> None:
    able = 0.5 if worth.capability_match is None else worth.capability_match
    score = goal_priority(worth, pressing, who)
    assert score.priority == pytest.approx(
        1.0 * pressing
        + (0.5 + 0.5 * (1 - who.quality_vs_speed)) * worth.expected_reward
        + (0.5 + 0.5 * (1 - who.depth_vs_breadth)) * able
        + 0.5 * who.risk_tolerance * worth.novelty
        + 0.5 * who.collaboration * worth.social_value
    )
    terms = score.values.model_dump()
    assert {name: getattr(score, name) for name in terms} == pytest.approx(
        {name: value * getattr(score.weights, name) for name, value in terms.items()}
    )
    assert score.priority == pytest.approx(sum(getattr(score, name) for name in terms))
    assert type(score).model_validate(score.model_dump()) == score


@given(who=drives)
def test_weights_stay_within_their_bounds_and_urgency_is_the_same_for_all(who: Drives) -> None:
    found = goal_priority_weights(who)
    assert found.urgency == 1
    assert 0.5 <= found.expected_reward <= 1
    assert 0.5 <= found.capability_match <= 1
    assert 0 <= found.novelty <= 0.5
    assert 0 <= found.social_value <= 0.5


@given(
    worth=worths,
    name=st.sampled_from(sorted(ValueEstimate.model_fields)),
    pair=st.tuples(units, units),
)
def test_more_of_anything_good_is_never_wanted_less(
    worth: ValueEstimate, name: str, pair: tuple[float, float]
) -> None:
    less, more = (
        goal_priority(worth.replaced(**{name: each}), 0.0, Drives()).priority
        for each in sorted(pair)
    )
    assert less <= more


@given(deadline=deadlines, spans=st.tuples(spans, spans))
def test_urgency_only_rises_and_stays_within_bounds(
    deadline: datetime | None, spans: tuple[timedelta, timedelta]
) -> None:
    earlier, later = (goal_deadline_urgency(deadline, NOW, NOW + span) for span in sorted(spans))
    assert 0 <= earlier <= later <= 1
    if deadline is None:
        assert later == 0


def test_urgency_is_the_share_of_the_time_that_is_over() -> None:
    deadline = NOW + timedelta(days=4)
    shares = [
        goal_deadline_urgency(deadline, NOW, NOW + timedelta(days=days))
        for days in (-1, 0, 1, 4, 9)
    ]
    assert shares == [0, 0, 0.25, 1, 1]
    assert goal_deadline_urgency(NOW - timedelta(days=1), NOW, NOW) == 1
    assert goal_deadline_urgency(NOW, NOW, NOW) == 1


@given(worth=worths, who=drives, deadline=deadlines, threshold=st.floats(0, 4))
def test_a_goal_comes_to_the_threshold_when_it_is_said_to_and_not_before(
    worth: ValueEstimate, who: Drives, deadline: datetime | None, threshold: float
) -> None:
    def at(now: datetime) -> float:
        return goal_priority(worth, goal_deadline_urgency(deadline, NOW, now), who).priority

    found = goal_priority_reached_at(worth, NOW, deadline, who, threshold)
    if found is None:
        assert at(NOW + timedelta(days=4_000)) < threshold + 1e-9
        return
    assert found >= NOW
    assert at(found) >= threshold - 1e-6
    if found - NOW > timedelta(seconds=1):  # a moment is known to the microsecond
        assert at(found - (found - NOW) / 100) < threshold
