"""The gate names a reason only where there is one, and knows nothing but the vital signs."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.agent import AgentStatus
from opencrab.domain.agents.heartbeat import ActiveHours, Heartbeat
from opencrab.domain.autonomy.heartbeat_gate import (
    BeatReason,
    first_heartbeat_reason,
    heartbeat_gate,
    is_heartbeat_speech_in_cooldown,
)
from opencrab.domain.autonomy.settings import Autonomy
from opencrab.domain.autonomy.vital_signs import Mention, VitalSigns
from opencrab.domain.conversation.message import Channel
from tests.soak import examples

NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)
WALL = Channel(kind="wall", address="x")
HEARD = Mention(session_id="s", line=1, authority=Authority.USER, principal_id="taro", at=NOW)
LONG_AGO = NOW - timedelta(days=40)


def vital(**changes: Any) -> VitalSigns:
    """The signs of an agent that has nothing to do."""
    quiet = VitalSigns(
        agent_id="crab",
        heartbeat=Heartbeat(instructions="見て回る"),
        next_beat_at=NOW,
        lived_at=NOW,
        reviewed_at=NOW,
    )
    return quiet.replaced(**changes)


def reasons(**changes: Any) -> tuple[BeatReason, ...]:
    return heartbeat_gate(vital(**changes), NOW, Autonomy()).reasons


def test_each_reason_is_named_where_it_holds() -> None:
    assert reasons() == ()
    assert reasons(mention=HEARD) == (BeatReason.MENTION,)
    assert reasons(unread=1) == (BeatReason.UNREAD,)
    assert reasons(goal_at=NOW) == (BeatReason.GOAL,)
    assert reasons(goal_at=NOW + timedelta(seconds=1)) == ()
    assert reasons(lived_at=LONG_AGO) == (BeatReason.CURIOSITY,)
    assert reasons(lived_at=LONG_AGO, exploring=True) == ()


def test_without_initiative_or_instructions_an_agent_is_not_curious() -> None:
    for heartbeat in (Heartbeat(), Heartbeat(instructions="x", initiative=False)):
        assert reasons(lived_at=LONG_AGO, heartbeat=heartbeat) == ()
        assert reasons(lived_at=LONG_AGO, heartbeat=heartbeat, unread=1) == (BeatReason.UNREAD,)


@pytest.mark.parametrize("status", [AgentStatus.DORMANT, AgentStatus.RETIRED])
def test_who_does_not_beat_has_no_reason(status: AgentStatus) -> None:
    all_of_it = {"mention": HEARD, "unread": 3, "goal_at": NOW, "lived_at": LONG_AGO}
    assert len(reasons(**all_of_it)) == 4
    assert reasons(**all_of_it, status=status) == ()
    assert reasons(**all_of_it, heartbeat=Heartbeat(enabled=False)) == ()


def test_a_turn_that_is_alive_makes_busy_until_its_lease_ends() -> None:
    busy = vital(unread=1, turn_id="t", busy_until=NOW + timedelta(seconds=1))
    assert heartbeat_gate(busy, NOW, Autonomy()).idle == "busy"
    assert heartbeat_gate(busy, NOW + timedelta(seconds=1), Autonomy()).reasons == (
        BeatReason.UNREAD,
    )


def test_outside_active_hours_only_a_mention_counts() -> None:
    asleep = Heartbeat(
        instructions="x", active_hours=ActiveHours(start="22:00", end="06:00", zone="Asia/Tokyo")
    )
    waiting = {"unread": 1, "goal_at": NOW, "lived_at": LONG_AGO, "heartbeat": asleep}
    verdict = heartbeat_gate(vital(**waiting), NOW, Autonomy())
    assert (verdict.reasons, verdict.idle) == ((), "off hours")
    assert reasons(**waiting, mention=HEARD) == (BeatReason.MENTION,)
    later = heartbeat_gate(vital(**waiting), NOW + timedelta(hours=5), Autonomy())
    assert len(later.reasons) == 3


def test_words_of_other_agents_wait_for_their_channel_and_those_of_people_do_not() -> None:
    spoke = {WALL.target: NOW - timedelta(seconds=10)}
    for authority, waits in ((Authority.PEER, True), (Authority.PUBLIC, True)):
        heard = HEARD.replaced(authority=authority, channel=WALL)
        assert (reasons(mention=heard, spoke=spoke) == ()) is waits
        assert reasons(mention=heard) == (BeatReason.MENTION,)
    assert reasons(mention=HEARD.replaced(channel=WALL), spoke=spoke) == (BeatReason.MENTION,)


def test_a_channel_rests_for_its_cooldown_and_not_after_a_clock_was_set_back() -> None:
    signs = vital(spoke={WALL.target: NOW})
    assert is_heartbeat_speech_in_cooldown(signs, WALL.target, NOW + timedelta(seconds=299))
    assert not is_heartbeat_speech_in_cooldown(signs, WALL.target, NOW + timedelta(seconds=300))
    assert not is_heartbeat_speech_in_cooldown(signs, WALL.target, NOW - timedelta(hours=1))
    assert not is_heartbeat_speech_in_cooldown(signs, "other", NOW)


def test_a_mention_goes_first_and_events_and_goals_take_turns() -> None:
    both = (BeatReason.UNREAD, BeatReason.GOAL)
    assert [first_heartbeat_reason(both, vital(turns=number)) for number in range(2)] == [*both]
    assert first_heartbeat_reason((BeatReason.MENTION, *both), vital(turns=1)) is BeatReason.MENTION
    assert first_heartbeat_reason((BeatReason.CURIOSITY,), vital()) is BeatReason.CURIOSITY


@settings(max_examples=examples(50), deadline=None)
@given(st.integers(0, 5), st.booleans(), st.integers(-100_000, 100_000), st.floats(0, 1))
def test_a_verdict_has_reasons_or_says_why_it_has_none(
    unread: int,
    exploring: bool,  # noqa: FBT001 - drawn
    seconds: int,
    risk: float,
) -> None:
    lived = NOW + timedelta(seconds=seconds)
    signs = vital(unread=unread, exploring=exploring, lived_at=lived, risk_tolerance=risk)
    verdict = heartbeat_gate(signs, NOW, Autonomy())
    assert bool(verdict.reasons) is not bool(verdict.idle)
    assert (BeatReason.UNREAD in verdict.reasons) is (unread > 0)
    calm = 3_600 * (10 + 20 * risk)
    assert (BeatReason.CURIOSITY in verdict.reasons) is (not exploring and -seconds > calm)
