"""A session: who takes part, and how it counts and ends."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from opencrab.domain.conversation.session import (
    PARTICIPANTS,
    Mode,
    Participant,
    Phase,
    Session,
    SessionChange,
    SessionStatus,
)
from opencrab.domain.errors import Conflict

NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)


def session(*agent_ids: str, **fields: Any) -> Session:
    given: dict[str, Any] = {
        "id": "s1",
        "participants": [{"agent_id": agent_id} for agent_id in agent_ids or ("mika", "ken")],
        "created_by": "owner",
        "created_at": NOW,
        "updated_at": NOW,
    }
    return Session.model_validate(given | fields)


def test_a_closed_turn_counts() -> None:
    after = session().after_turn(SessionChange(agent_id="mika"), LATER)
    assert (after.turn_number, after.done_count, after.updated_at) == (1, 0, LATER)
    assert after.status is SessionStatus.ACTIVE
    assert after.phase is Phase.DIVERGENT


def test_only_the_speaker_has_spoken() -> None:
    after = session().after_turn(SessionChange(agent_id="mika", spoke_at=NOW), LATER)
    assert [part.last_speech_at for part in after.participants] == [NOW, None]


def test_a_silent_turn_keeps_the_time_of_the_last_speech() -> None:
    spoken = session().after_turn(SessionChange(agent_id="mika", spoke_at=NOW), NOW)
    after = spoken.after_turn(SessionChange(agent_id="mika"), LATER)
    assert after.participants[0].last_speech_at == NOW


DISCUSSION: dict[str, Any] = {"mode": "autonomous", "hop_limit": 9}


def test_a_discussion_ends_once_everybody_has_declared_done() -> None:
    first = session(**DISCUSSION).after_turn(
        SessionChange(agent_id="mika", declared_done=True), NOW
    )
    assert (first.done_count, first.status) == (1, SessionStatus.ACTIVE)
    second = first.after_turn(SessionChange(agent_id="ken", declared_done=True), LATER)
    assert (second.done_count, second.status) == (2, SessionStatus.ENDED)
    assert second.phase is Phase.CONCLUDED


def test_declaring_done_twice_counts_once_and_stays() -> None:
    once = session(**DISCUSSION).after_turn(SessionChange(agent_id="mika", declared_done=True), NOW)
    twice = once.after_turn(SessionChange(agent_id="mika", declared_done=True), NOW)
    assert twice.done_count == 1
    assert twice.after_turn(SessionChange(agent_id="mika"), NOW).done_count == 1


@pytest.mark.parametrize("agents", [("mika",), ("mika", "ken")])
def test_a_conversation_goes_on_after_everybody_has_declared_done(agents: tuple[str, ...]) -> None:
    done = session(*agents)
    for agent_id in agents:
        done = done.after_turn(SessionChange(agent_id=agent_id, declared_done=True), NOW)
    assert (done.done_count, done.status) == (len(agents), SessionStatus.ACTIVE)
    after = done.after_turn(SessionChange(agent_id="mika", spoke_at=NOW, heard="m2"), LATER)
    assert (after.done_count, after.status) == (len(agents) - 1, SessionStatus.ACTIVE)
    assert after.phase is Phase.DIVERGENT


def test_a_session_ends_after_its_last_turn() -> None:
    running = session(max_turns=2).after_turn(SessionChange(agent_id="mika"), NOW)
    assert running.status is SessionStatus.ACTIVE
    over = running.after_turn(SessionChange(agent_id="ken"), LATER)
    assert (over.status, over.phase) == (SessionStatus.ENDED, Phase.CONCLUDED)


def test_an_ended_session_stays_ended() -> None:
    after = session().with_end(NOW).after_turn(SessionChange(agent_id="mika"), LATER)
    assert (after.status, after.phase) == (SessionStatus.ENDED, Phase.CONCLUDED)


def test_a_change_by_somebody_else_changes_no_participant() -> None:
    before = session()
    after = before.after_turn(SessionChange(agent_id="guest", declared_done=True), LATER)
    assert after.participants == before.participants
    assert after.turn_number == 1


def test_participants_answer_in_their_order() -> None:
    assert session("b", "a").agent_ids == ("b", "a")


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"participants": []}, "participants"),
        ({"participants": [{"agent_id": "a"}, {"agent_id": "a"}]}, "distinct"),
        (
            {"participants": [{"agent_id": f"a{n}"} for n in range(PARTICIPANTS + 1)]},
            "participants",
        ),
        ({"facilitator_id": "nobody"}, "facilitator_id must be one of"),
        ({"max_turns": 0}, "max_turns"),
        ({"theme": "海" * 501}, "theme"),
        ({"theme": "a\x00"}, "NUL"),
    ],
)
def test_what_is_no_session_is_refused(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        session(**fields)


def test_the_most_participants_fit() -> None:
    agents = tuple(f"a{n}" for n in range(PARTICIPANTS))
    assert session(*agents, facilitator_id="a3").agent_ids == agents
    assert Participant(agent_id="a1").done_declared is False


def test_who_takes_a_seat_begins_and_who_had_one_keeps_it() -> None:
    spoken = session("mika").after_turn(SessionChange(agent_id="mika", spoke_at=NOW), NOW)
    seated = spoken.with_participants(("ken", "mika"), LATER)
    assert seated.agent_ids == ("ken", "mika")
    assert [part.last_speech_at for part in seated.participants] == [None, NOW]
    assert (seated.mode, seated.updated_at, seated.turn_number) == (Mode.AUTONOMOUS, LATER, 1)


def test_who_leaves_takes_their_part_with_them() -> None:
    done = session().after_turn(SessionChange(agent_id="mika", declared_done=True), NOW)
    alone = done.with_participants(("ken",), LATER).after_turn(SessionChange(agent_id="ken"), LATER)
    assert (alone.agent_ids, alone.done_count) == (("ken",), 0)
    assert alone.status is SessionStatus.ACTIVE


def test_a_facilitator_leads_as_long_as_they_are_there() -> None:
    led = session("mika", "ken", mode=Mode.FACILITATED, facilitator_id="mika")
    joined = led.with_participants(("mika", "ken", "rin"), LATER)
    assert (joined.mode, joined.facilitator_id) == (Mode.FACILITATED, "mika")
    left = joined.with_participants(("ken", "rin"), LATER)
    assert (left.mode, left.facilitator_id) == (Mode.AUTONOMOUS, None)


def test_one_with_one_stays_direct() -> None:
    assert session("mika").with_participants(("ken",), LATER).mode is Mode.DIRECT


def test_nobody_takes_a_seat_in_what_has_ended() -> None:
    with pytest.raises(Conflict, match="s1"):
        session().with_end(NOW).with_participants(("rin",), LATER)


def test_who_left_is_known_until_they_come_back() -> None:
    alone = session("mika", "ken").with_participants(("ken",), LATER)
    assert (alone.agent_ids, alone.left, alone.all_time_agent_ids) == (
        ("ken",),
        ("mika",),
        ("ken", "mika"),
    )
    other = alone.with_participants(("rin",), LATER)
    assert (other.left, other.all_time_agent_ids) == (("ken", "mika"), ("rin", "ken", "mika"))
    back = other.with_participants(("rin", "mika"), LATER)
    assert (back.agent_ids, back.left) == (("rin", "mika"), ("ken",))


def test_a_session_stored_before_has_nobody_who_left() -> None:
    before = session("mika").model_dump(mode="json")
    del before["left"]
    assert Session.model_validate(before) == session("mika")


def test_those_who_left_count_among_the_most_who_fit() -> None:
    agents = tuple(f"a{n}" for n in range(PARTICIPANTS))
    few = session(*agents).with_participants(agents[:1], LATER)
    assert few.with_participants(agents, LATER).agent_ids == agents
    with pytest.raises(Conflict, match="at most 20 agents") as caught:
        few.with_participants((*agents[:1], "one_more"), LATER)
    assert caught.value.cure == "start a new session"
