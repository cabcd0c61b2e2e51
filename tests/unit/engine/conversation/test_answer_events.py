"""Events of answers that are still arriving: one message that grows, and ends with its line."""

import json
from dataclasses import replace
from typing import Any

import pytest

from opencrab.domain.conversation.message import Line, LineKind
from opencrab.engine.conversation.answer_events import AnswerEvents
from opencrab.engine.conversation.live_events import PIECE, Event
from opencrab.ports.conversation.answers import AnswerPart
from tests.contract.example import NOW, line

PART = AnswerPart("s1", "hana", "t1", 2)


def told(events: AnswerEvents, text: str, **changes: object) -> list[Event]:
    return list(events.of_part(replace(PART, text=text, **changes), NOW))  # type: ignore[arg-type]


def speech(text: str, **changes: object) -> Line:
    said: dict[str, Any] = {"speaker_id": "hana", "from_agent": True, "turn_id": "t1"}
    return line(text, **(said | {"sequence": 7} | changes))


def kinds(events: list[Event] | tuple[Event, ...]) -> list[str]:
    return [event["type"].removeprefix("TEXT_MESSAGE_") for event in events]


@pytest.mark.parametrize("words", [["Good ", "morning"], ["おはよう", "ございます🦀"]])
def test_a_message_begins_grows_and_ends_with_its_line(words: list[str]) -> None:
    events = AnswerEvents()
    first, second = told(events, words[0]), told(events, words[1])
    assert (kinds(first), kinds(second)) == (["START", "CONTENT"], ["CONTENT"])
    assert first[0]["role"] == "assistant"
    (ended,) = events.of_line(speech("".join(words)))
    assert ended["type"] == "TEXT_MESSAGE_END"
    assert ended["metadata"]["sequence"] == 7
    assert {event["messageId"] for event in (*first, *second, ended)} == {first[0]["messageId"]}
    assert "".join(event["delta"] for event in (first[1], second[0])) == "".join(words)


def test_a_line_that_says_something_else_is_told_whole() -> None:
    events = AnswerEvents()
    told(events, "Let me look.")
    assert kinds(events.of_line(speech("It is sunny."))) == ["CHUNK"]
    (ended,) = events.of_turn("t1", NOW)
    assert ended["metadata"]["withdrawn"]
    assert events.of_turn("t1", NOW) == ()


@pytest.mark.parametrize("changes", [{"n": 4}, {"starts_over": True}])
def test_words_of_another_call_are_another_message(changes: dict[str, object]) -> None:
    events = AnswerEvents()
    first = told(events, "Let me look.")
    then = told(events, "It is sunny.", **changes)
    assert kinds(then) == ["END", "START", "CONTENT"]
    assert then[0]["metadata"]["withdrawn"]
    assert then[1]["messageId"] != first[0]["messageId"]
    assert kinds(events.of_line(speech("It is sunny."))) == ["END"]


def test_somebody_elses_line_ends_no_message() -> None:
    events = AnswerEvents()
    told(events, "Hello")
    assert kinds(events.of_line(line("Hello"))) == ["CHUNK"]
    assert kinds(events.of_line(speech("Hello", turn_id="t9"))) == ["CHUNK"]
    assert kinds(events.of_line(speech("Hello", kind=LineKind.SYSTEM))) == ["CHUNK"]
    assert kinds(events.of_line(speech("Hello"))) == ["END"]


def test_the_end_of_an_answer_without_words_tells_nothing() -> None:
    assert told(AnswerEvents(), "", ended=True) == []


def test_a_long_part_comes_in_pieces_that_any_socket_carries() -> None:
    events = told(AnswerEvents(), "蟹" * (2 * PIECE + 1))
    assert kinds(events) == ["START", "CONTENT", "CONTENT", "CONTENT"]
    assert all(len(json.dumps(event)) < 32_768 for event in events)
