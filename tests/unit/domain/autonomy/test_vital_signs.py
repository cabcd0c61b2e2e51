"""Beats stay on their lattice, missed ones are one, and signs are due while their agent beats."""

from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from opencrab.domain.agents.agent import AgentStatus
from opencrab.domain.agents.event import agent_event_id_after
from opencrab.domain.agents.heartbeat import Heartbeat
from opencrab.domain.autonomy.vital_signs import (
    VitalSigns,
    bring_heartbeat_forward,
    first_heartbeat_signs,
    heartbeat_signs_document,
    heartbeat_slot,
    next_heartbeat_time,
)
from tests.contract.example import NOW, profile
from tests.soak import examples

INTERVALS = st.sampled_from([29, 31, 61, 3_607, 86_399])


def new(**changes: object) -> VitalSigns:
    return first_heartbeat_signs(profile().agent, 0.5, NOW).replaced(**changes)


@settings(max_examples=examples(50))
@given(INTERVALS, st.integers(-(10**7), 10**7), st.integers(0, 999_999))
def test_the_next_beat_is_after_now_and_at_most_one_interval_away(
    seconds: int, ahead: int, micro: int
) -> None:
    now = NOW + timedelta(microseconds=micro)
    planned = NOW + timedelta(seconds=ahead)
    coming = next_heartbeat_time(planned, seconds, now)
    assert timedelta() < coming - now <= timedelta(seconds=seconds)
    if planned <= now + timedelta(seconds=seconds):
        assert (coming - planned) % timedelta(seconds=seconds) == timedelta()


def test_an_outage_is_one_beat_and_the_slots_in_it_are_skipped() -> None:
    signs = new()
    after = signs.after_beat(NOW + timedelta(hours=1))
    assert (after.beats, after.slot) == (1, heartbeat_slot(NOW) + 61)
    assert after.next_beat_at == NOW + timedelta(seconds=61 * 60)


def test_a_heartbeat_that_is_far_ahead_is_brought_forward_on_its_grid() -> None:
    signs = new(next_beat_at=NOW + timedelta(seconds=1_000 * 61 + 11))
    assert signs.after_beat(NOW).next_beat_at == NOW + timedelta(seconds=11)
    assert bring_heartbeat_forward(signs, NOW).next_beat_at == NOW + timedelta(seconds=11)


def test_a_new_agent_beats_one_interval_after_its_birth_at_a_whole_second() -> None:
    agent = profile().agent.replaced(heartbeat=Heartbeat(interval_seconds=127))
    signs = first_heartbeat_signs(agent, 0.5, NOW + timedelta(microseconds=5))
    assert signs.next_beat_at == NOW + timedelta(seconds=127)


def test_signs_are_due_as_long_as_their_agent_beats() -> None:
    signs = new()
    fact = heartbeat_signs_document(signs, None)
    assert (fact.version, fact.due_at) == (1, signs.next_beat_at)
    assert fact.read(VitalSigns) == signs
    for silent in (
        signs.replaced(status=AgentStatus.DORMANT),
        signs.replaced(status=AgentStatus.RETIRED),
        signs.replaced(heartbeat=Heartbeat(enabled=False)),
    ):
        changed = heartbeat_signs_document(silent, fact)
        assert (changed.version, changed.due_at) == (2, None)


def test_a_slot_is_the_second_of_its_beat() -> None:
    assert heartbeat_slot(datetime(1970, 1, 1, 0, 1, 1, 999, tzinfo=UTC)) == 61


def test_an_event_that_comes_too_late_has_an_id_right_after_what_was_read() -> None:
    for read_to in ("01abc", "01abc.00000001", "01abc.x", "01abc.99999999"):
        first = agent_event_id_after(read_to, 2)
        second = agent_event_id_after(first, 3)
        assert read_to < first < second < "01abd"
        assert len(agent_event_id_after(second, 4)) == len(second)
