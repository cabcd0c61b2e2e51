"""Live events: what a line and a turn are to somebody who watches, whole and in small frames."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.conversation.message import Audience, Line, LineKind
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.engine.conversation.live_events import (
    Event,
    TurnMoved,
    events_of_session_line,
    live_session_events_of_turn,
    session_event_for_gap,
)
from tests.contract.example import ENGLISH, JAPANESE, NOW, line, turn

FRAME = 32_768
MILLISECONDS = int(NOW.timestamp() * 1_000)


def spoken(text: str = JAPANESE, **changes: Any) -> Line:
    agent = {"speaker_id": "hana", "speaker_name": "花", "from_agent": True, "message_id": None}
    return line(text, **{"sequence": 7, "turn_id": "t1", **agent, **changes})


def joined(events: tuple[Event, ...]) -> str:
    return "".join(event["delta"] for event in events)


def came(status: TurnStatus, **changes: Any) -> tuple[Event, ...]:
    moved: Turn = turn(status=status, **changes)
    return live_session_events_of_turn(TurnMoved(turn=moved, status=status, at=NOW))


@pytest.mark.parametrize("text", [JAPANESE, ENGLISH])
def test_a_persons_words_are_a_message_of_a_user(text: str) -> None:
    (event,) = events_of_session_line(line(text, sequence=3))
    assert event == {
        "type": "TEXT_MESSAGE_CHUNK",
        "messageId": "s1-3",
        "role": "user",
        "name": "太郎",
        "delta": text,
        "timestamp": MILLISECONDS,
        "metadata": {
            "threadId": "s1",
            "kind": "speech",
            "speakerId": "taro",
            "speakerName": "太郎",
            "fromAgent": False,
            "messageId": "m1",
            "sequence": 3,
        },
    }


def test_an_agents_words_are_of_an_assistant_in_its_run() -> None:
    (event,) = events_of_session_line(spoken())
    assert (event["role"], event["name"], event["delta"]) == ("assistant", "花", JAPANESE)
    assert event["metadata"]["runId"] == "t1"
    (told,) = events_of_session_line(spoken(kind=LineKind.SYSTEM))
    assert told["role"] == "system"


def test_images_are_named_by_their_references() -> None:
    (event,) = events_of_session_line(line(data={"images": ["workspace:写真.png"]}))
    assert event["metadata"]["images"] == ["workspace:写真.png"]


def test_thoughts_are_reasoning() -> None:
    (event,) = events_of_session_line(spoken(kind=LineKind.INNER_VOICE, audience=Audience.SELF))
    assert (event["type"], event["delta"]) == ("REASONING_MESSAGE_CHUNK", JAPANESE)


def test_an_action_is_a_call_from_its_start_to_its_result() -> None:
    data = {
        "name": "ws_write",
        "arguments": '{"path":"海.md"}',
        "result": "ok",
        "state": "completed",
    }
    events = events_of_session_line(spoken("ws_write completed", kind=LineKind.ACTION, data=data))
    names = ["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT"]
    assert [event["type"] for event in events] == names
    assert {event["toolCallId"] for event in events} == {"s1-7"}
    assert events[0]["toolCallName"] == "ws_write"
    assert events[1]["delta"] == '{"path":"海.md"}'
    assert (events[3]["content"], events[3]["metadata"]["state"]) == ("ok", "completed")


def test_what_waits_for_a_human_and_what_agents_are_told_are_custom() -> None:
    asked = {"call_id": "c1", "approval_id": "a1"}
    (event,) = events_of_session_line(
        spoken("送ってよいですか", kind=LineKind.APPROVAL, data=asked)
    )
    assert (event["type"], event["name"]) == ("CUSTOM", "approval")
    assert event["value"] == {"approvalId": "a1", "callId": "c1", "text": "送ってよいですか"}
    (told,) = events_of_session_line(line("秘密", kind=LineKind.SYSTEM, audience=Audience.AGENTS))
    assert (told["name"], told["value"]) == ("instruction", {"id": "m1", "text": "秘密"})


def test_a_forgotten_line_keeps_its_place_and_nothing_else() -> None:
    (event,) = events_of_session_line(line(sequence=4).without_content())
    assert (event["delta"], event["metadata"]["sequence"]) == ("", 4)
    assert "太郎" not in json.dumps(event, ensure_ascii=False)


@given(st.text(max_size=12_000), st.sampled_from(LineKind), st.sampled_from(Audience))
def test_every_event_of_a_line_fits_a_frame_and_the_last_one_has_its_place(
    text: str, kind: LineKind, audience: Audience
) -> None:
    text = text.encode(errors="replace").decode()
    events = events_of_session_line(spoken(text, kind=kind, audience=audience, data=None))
    sizes = [len(json.dumps(event, ensure_ascii=False).encode()) for event in events]
    assert max(sizes) < FRAME
    places = [event["metadata"].get("sequence") for event in events]
    assert places == [None] * (len(events) - 1) + [7]


@pytest.mark.parametrize("character", ["\x01", "海", "🦀", '"', "x"])
def test_the_longest_message_comes_whole_in_pieces(character: str) -> None:
    text = character * (65_536 // len(character.encode()))
    events = events_of_session_line(spoken(text))
    assert joined(events) == text
    assert len({event["messageId"] for event in events}) == 1
    assert [event.get("role") for event in events] == ["assistant"] + [None] * (len(events) - 1)
    assert max(len(json.dumps(event, ensure_ascii=False).encode()) for event in events) < FRAME


@pytest.mark.parametrize(
    ("status", "kind", "outcome"),
    [
        (TurnStatus.RUNNING, "RUN_STARTED", None),
        (TurnStatus.COMPLETED, "RUN_FINISHED", "success"),
        (TurnStatus.IDLE, "RUN_FINISHED", "success"),
        (TurnStatus.STOPPED, "RUN_FINISHED", "cancelled"),
        (TurnStatus.WAITING, "RUN_FINISHED", "interrupt"),
    ],
)
def test_a_turn_is_a_run(status: TurnStatus, kind: str, outcome: str | None) -> None:
    (event,) = came(status)
    assert (event["type"], event["threadId"], event["runId"]) == (kind, "s1", "t1")
    assert event.get("outcome", {}).get("type") == outcome
    assert event["metadata"] == {
        "threadId": "s1",
        "runId": "t1",
        "agentId": "hana",
        "status": status.value,
    }


@pytest.mark.parametrize("status", [TurnStatus.FAILED, TurnStatus.EXHAUSTED])
@pytest.mark.parametrize("note", ["予算がありません", ""])
def test_a_turn_that_fails_is_an_error_that_says_why(status: TurnStatus, note: str) -> None:
    (event,) = came(status, note=note)
    assert (event["type"], event["code"]) == ("RUN_ERROR", status.value)
    assert event["message"] == (note or status.value)


def test_a_queued_turn_is_no_news() -> None:
    assert came(TurnStatus.QUEUED) == ()


def test_a_gap_names_the_lines_that_are_left_out() -> None:
    event = session_event_for_gap("s1", 3, 90, NOW)
    assert (event["name"], event["value"]) == ("gap", {"after": 3, "before": 90})
