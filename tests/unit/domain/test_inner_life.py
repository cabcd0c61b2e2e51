"""Curiosity, trust and belief: the formulas that an agent's inner life follows."""

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.autonomy.curiosity import (
    autonomy_curiosity_pressure,
    autonomy_curiosity_threshold,
)
from opencrab.domain.memory.belief import EVIDENCE, Belief
from opencrab.domain.memory.belief import revise_belief as after_test
from opencrab.domain.memory.peer import (
    Peer,
    memory_of_peer_after_collaboration,
    remembered_peer_trust,
)
from opencrab.domain.outcome import Outcome

NOW = datetime(2026, 7, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
units = st.floats(0, 1, allow_subnormal=False)
ages = st.floats(-1e5, 1e5).map(lambda minutes: timedelta(minutes=minutes))
outcomes = st.sampled_from(Outcome)
counts = st.tuples(st.integers(1, 1_000), st.integers(0, 1_000)).filter(lambda c: c[1] <= c[0])


def peer(age: timedelta, interactions: int, successes: int) -> Peer:
    """Somebody whom an agent met as often, and the last time so long ago."""
    return Peer(agent_id="ken", interactions=interactions, successes=successes, last_at=NOW - age)


@given(age=ages, risk=units)
def test_curiosity_is_the_cycles_without_anything_new_over_the_patience(
    age: timedelta, risk: float
) -> None:
    cycles = max(age / HOUR, 0)
    assert autonomy_curiosity_pressure(NOW - age, NOW, HOUR, risk) == pytest.approx(
        cycles / (10 + 20 * risk)
    )


@given(risk=units)
def test_curiosity_comes_over_one_right_after_the_threshold(risk: float) -> None:
    patience = autonomy_curiosity_threshold(risk) * HOUR
    assert autonomy_curiosity_pressure(NOW - patience * 0.999, NOW, HOUR, risk) < 1
    assert autonomy_curiosity_pressure(NOW - patience * 1.001, NOW, HOUR, risk) > 1


@given(age=ages, prior=units)
def test_the_prior_counts_only_where_nobody_has_met(age: timedelta, prior: float) -> None:
    assert remembered_peer_trust(Peer(agent_id="ken"), NOW, prior) == prior
    assert remembered_peer_trust(peer(age, 1, 0), NOW, prior) == 0


@given(age=ages, count=counts, prior=units)
def test_trust_is_the_share_of_successes_fading_with_time(
    age: timedelta, count: tuple[int, int], prior: float
) -> None:
    found = remembered_peer_trust(peer(age, *count), NOW, prior)
    minutes = max(age.total_seconds() / 60, 0)
    assert 0 <= found <= 1
    assert found == pytest.approx(count[1] / count[0] * math.exp(-0.001 * minutes))


@given(ages=st.tuples(ages, ages), count=counts)
def test_trust_never_grows_by_waiting(
    ages: tuple[timedelta, timedelta], count: tuple[int, int]
) -> None:
    recent, long_ago = sorted(ages)
    assert remembered_peer_trust(peer(long_ago, *count), NOW, 0.5) <= remembered_peer_trust(
        peer(recent, *count), NOW, 0.5
    )


def test_a_success_may_turn_out_to_be_none() -> None:
    met = memory_of_peer_after_collaboration(Peer(agent_id="ken"), Outcome.SUCCESS, "s1", NOW)
    ken = memory_of_peer_after_collaboration(met, Outcome.FAILURE, "", NOW, undoes_success=True)
    assert (ken.interactions, ken.successes) == (2, 0)
    again = memory_of_peer_after_collaboration(ken, Outcome.FAILURE, "", NOW, undoes_success=True)
    assert (again.interactions, again.successes) == (3, 0)


def test_a_session_counts_once_and_an_unknown_outcome_not_at_all() -> None:
    ken = memory_of_peer_after_collaboration(Peer(agent_id="ken"), Outcome.SUCCESS, "s1", NOW)
    assert (ken.interactions, ken.successes, ken.last_at) == (1, 1, NOW)
    assert memory_of_peer_after_collaboration(ken, Outcome.FAILURE, "s1", NOW + HOUR) == ken
    assert memory_of_peer_after_collaboration(
        ken, Outcome.UNKNOWN, "s2", NOW + HOUR
    ) == ken.replaced(last_at=NOW + HOUR)
    twice = memory_of_peer_after_collaboration(
        memory_of_peer_after_collaboration(ken, Outcome.PARTIAL, "s2", NOW - HOUR),
        Outcome.FAILURE,
        "",
        NOW,
    )
    assert (twice.interactions, twice.successes) == (3, 1)
    assert (twice.last_at, twice.last_session) == (NOW, "s2")


@given(st.lists(outcomes, max_size=60))
def test_confidence_is_the_mean_of_a_beta_posterior(seen: list[Outcome]) -> None:
    belief = Belief(id="b1", claim="海は青い", formed_at=NOW)
    for number, outcome in enumerate(seen):
        belief = after_test(belief, outcome, (f"turn {number}",), NOW + number * HOUR)
    half = seen.count(Outcome.PARTIAL) / 2
    confirmed = seen.count(Outcome.SUCCESS) + half
    refuted = seen.count(Outcome.FAILURE) + half
    assert (belief.confirmed, belief.refuted) == (confirmed, refuted)
    assert belief.confidence == pytest.approx((1 + confirmed) / (2 + confirmed + refuted))
    assert 0 < belief.confidence < 1
    assert belief.tested_at == (NOW + (len(seen) - 1) * HOUR if seen else None)
    assert len(belief.evidence) == min(len(seen) - seen.count(Outcome.UNKNOWN), EVIDENCE)
    assert Belief.model_validate(belief.model_dump()) == belief


@given(first=units, outcome=outcomes)
def test_a_test_moves_a_belief_towards_its_outcome(first: float, outcome: Outcome) -> None:
    belief = Belief(id="b1", claim="crabs walk", confidence=first, formed_at=NOW)
    after = after_test(belief, outcome, (), NOW)
    towards = {Outcome.SUCCESS: 1.0, Outcome.FAILURE: 0.0, Outcome.PARTIAL: 0.5}
    aim = towards.get(outcome, first)
    assert 0 <= after.confidence <= 1
    assert abs(after.confidence - aim) <= abs(first - aim) + 1e-12


def test_the_same_evidence_is_kept_once() -> None:
    belief = Belief(id="b1", claim="crabs walk", evidence=("m1",), formed_at=NOW)
    assert after_test(belief, Outcome.SUCCESS, ("m1", "m2"), NOW).evidence == ("m1", "m2")
