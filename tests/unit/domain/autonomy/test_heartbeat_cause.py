"""Heartbeats are skipped only while the gate could find no reason, and no review is due."""

from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from opencrab.domain.agents.heartbeat import ActiveHours, Heartbeat
from opencrab.domain.autonomy.heartbeat_cause import (
    next_heartbeat_cause,
    skip_heartbeats_without_cause,
)
from opencrab.domain.autonomy.heartbeat_gate import heartbeat_gate
from opencrab.domain.autonomy.settings import Autonomy
from opencrab.domain.autonomy.vital_signs import NO_HEARTBEAT, VitalSigns
from tests.soak import examples
from tests.unit.domain.autonomy.test_heartbeat_gate import HEARD, NOW, vital

HOUR = timedelta(hours=1)
_DAYS = st.floats(-3, 3).map(lambda days: NOW + timedelta(days=days))
_ZONES = st.sampled_from(["UTC", "Asia/Tokyo", "America/New_York"])
_TIMES = st.sampled_from(["00:00", "08:30", "12:00", "23:59"])
_HOURS = st.none() | st.builds(ActiveHours, start=_TIMES, end=_TIMES, zone=_ZONES)


@st.composite
def living(draw: st.DrawFn) -> VitalSigns:
    heartbeat = Heartbeat(
        instructions=draw(st.sampled_from(["", "見て回る"])), active_hours=draw(_HOURS)
    )
    return vital(
        heartbeat=heartbeat,
        reviewed_at=NOW - draw(st.floats(0, 1)) * HOUR,
        lived_at=draw(_DAYS),
        goal_at=draw(st.none() | _DAYS),
        unread=draw(st.sampled_from([0, 0, 2])),
        mention=draw(st.sampled_from([None, None, HEARD])),
        exploring=draw(st.booleans()),
        turn_id=draw(st.sampled_from([None, "t"])),
        busy_until=draw(st.none() | _DAYS),
    )


@given(signs=living(), rests=st.booleans(), share=st.floats(0, 1))
@settings(max_examples=examples(300), deadline=None)
def test_before_the_cause_there_is_no_reason_and_no_review(
    signs: VitalSigns, *, rests: bool, share: float
) -> None:
    autonomy = Autonomy()
    cause = next_heartbeat_cause(signs, NOW, autonomy, rests=rests)
    if cause <= NOW:
        return
    before = NOW + share * (min(cause, NOW + timedelta(days=40)) - NOW - timedelta(seconds=1))
    assert heartbeat_gate(signs, before, autonomy).reasons == ()
    if not rests or signs.heartbeat.acts_on_its_own:
        assert cause <= signs.reviewed_at + HOUR


def test_an_agent_without_instructions_goals_or_events_has_no_cause() -> None:
    still = vital(heartbeat=Heartbeat())
    assert next_heartbeat_cause(still, NOW, Autonomy(), rests=True) == NO_HEARTBEAT
    assert next_heartbeat_cause(still, NOW, Autonomy()) == NOW + HOUR
    skipped = skip_heartbeats_without_cause(still, NO_HEARTBEAT)
    assert skipped.coming_beat_at is None
    assert vital().coming_beat_at == NOW


def test_quiet_hours_are_slept_through() -> None:
    hours = ActiveHours(start="18:00", end="23:00", zone="Asia/Tokyo")
    told = vital(heartbeat=Heartbeat(active_hours=hours), unread=1, reviewed_at=NOW + HOUR)
    assert next_heartbeat_cause(told, NOW, Autonomy(), rests=True) == NOW
    early = NOW - 3 * HOUR
    assert next_heartbeat_cause(told, early, Autonomy(), rests=True) == NOW
    late = NOW + 6 * HOUR
    assert next_heartbeat_cause(told, late, Autonomy(), rests=True) == NOW + 24 * HOUR


def test_skipped_heartbeats_stay_on_their_grid() -> None:
    signs = vital(next_beat_at=NOW + timedelta(seconds=7))
    skipped = skip_heartbeats_without_cause(signs, NOW + HOUR)
    assert skipped.next_beat_at >= NOW + HOUR > skipped.next_beat_at - timedelta(seconds=61)
    assert (skipped.next_beat_at - signs.next_beat_at) % timedelta(seconds=61) == timedelta()
    assert skip_heartbeats_without_cause(signs, NOW) == signs
