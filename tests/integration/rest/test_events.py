"""Events over REST: a session as it happens, resumed without loss, and closed to the curious."""

import pytest

from opencrab.adapters.answer_hub import AnswerHub
from opencrab.domain.access.authority import Scope
from opencrab.ports.conversation.answers import AnswerPart
from tests.integration.rest.house import House, problem


@pytest.mark.parametrize("text", ["見ていますか？", "are you watching?"])
def test_a_follower_sees_lines_and_turns_as_they_happen(shared: House, text: str) -> None:
    session_id = shared.session()
    shared.say(session_id, "before")
    shared.work()

    def happens() -> None:
        shared.say(session_id, text)
        shared.work()

    place = f"/sessions/{session_id}/events"
    events = shared.follow(place, 1, until='"completed"', meanwhile=happens)
    lines = [event for event in events if event["event"] == "line"]
    assert [event["data"]["text"] == text for event in lines] == [True, False]
    assert [event["id"] for event in lines] == ["3", "4"]
    turns = [event for event in events if event["event"] == "turn"]
    assert turns[-1]["data"]["status"] == "completed"
    assert not any("id" in event for event in turns)


def test_a_follower_that_returns_names_its_last_event_and_misses_nothing(shared: House) -> None:
    session_id = shared.session()
    place = f"/sessions/{session_id}/events"
    for text in ("一", "two", "三"):
        shared.say(session_id, text)
    first = shared.follow(f"{place}?after=0", 1)
    assert first[0]["data"]["text"] == "一"
    again = shared.follow(f"{place}?after=0", 2, headers={"Last-Event-ID": first[0]["id"]})
    assert [event["data"]["text"] for event in again[:2]] == ["two", "三"]
    assert again[:2] == shared.follow(f"{place}?after=1", 2)[:2]


def test_a_stream_ends_after_the_seconds_that_were_asked_for(shared: House) -> None:
    session_id = shared.session()
    answer = shared.call("GET", f"/sessions/{session_id}/events?seconds=1")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-store"
    assert answer.text == "retry: 1000\n\n"


def test_instructions_and_thoughts_reach_only_an_owner_who_asks(shared: House) -> None:
    session_id = shared.session()
    shared.made(f"/sessions/{session_id}/mentor", {"text": "内緒 secret"})
    shared.say(session_id, "hello")
    for query, key in (("?after=0", shared.read), ("?after=0", shared.owner)):
        (seen,) = shared.follow(f"/sessions/{session_id}/events{query}", 1, key=key)[:1]
        assert seen["data"]["text"] == "hello"
    query = "?after=0&kinds=system"
    (seen,) = shared.follow(f"/sessions/{session_id}/events{query}", 1)[:1]
    assert seen["data"]["text"] == "内緒 secret"
    problem(shared.call("GET", f"/sessions/{session_id}/events?kinds=action", key=shared.chat), 403)


@pytest.mark.parametrize("event_id", ["-1", "x", "1.0", "\uff11", "9" * 11, ""])
def test_an_event_id_that_is_none_of_ours_is_refused(shared: House, event_id: str) -> None:
    headers = {"Last-Event-ID": event_id}
    answer = shared.call("GET", f"/sessions/{shared.session()}/events", headers=headers)
    problem(answer, 422, "Last-Event-ID")


@pytest.mark.parametrize("query", ["after=-1", "after=x", "seconds=0", "seconds=x", "kinds=no"])
def test_a_malformed_wish_is_refused_before_the_stream_begins(shared: House, query: str) -> None:
    answer = shared.call("GET", f"/sessions/{shared.session()}/events?{query}")
    problem(answer, 422, query.partition("=")[0])


def test_an_unknown_session_has_no_events(shared: House) -> None:
    problem(shared.call("GET", "/sessions/unknown/events"), 404)


@pytest.mark.parametrize("text", ["見ていますか？", "are you watching?"])
def test_a_follower_may_ask_for_the_events_of_ag_ui(shared: House, text: str) -> None:
    session_id = shared.session()

    def happens() -> None:
        shared.say(session_id, text)
        shared.work()

    place = f"/sessions/{session_id}/events?format=agui"
    events = shared.follow(place, 1, until='"RUN_FINISHED"', meanwhile=happens)
    told = [event["data"]["type"] for event in events]
    assert told.count("TEXT_MESSAGE_CHUNK") == 2
    assert told[-1] == "RUN_FINISHED"
    assert not any("event" in event for event in events), "AG-UI names its events inside"
    lines = [event for event in events if "id" in event]
    assert [event["data"]["metadata"]["sequence"] for event in lines] == [1, 2]
    assert lines[0]["data"]["delta"] == text
    again = shared.follow(place, 1, headers={"Last-Event-ID": lines[0]["id"]})
    assert again[0]["id"] == lines[1]["id"]


def _answering(house: House, session_id: str, *words: str) -> None:
    """An agent's answer, word by word, and then its line."""
    hub = house.runtime.answers
    assert isinstance(hub, AnswerHub)
    (turn_id,) = house.say(session_id, "hello")
    (participant,) = house.got(f"/sessions/{session_id}")["participants"]
    for word in words:
        hub.publish(AnswerPart(session_id, participant["agent_id"], turn_id, 1, word))
    hub.publish(AnswerPart(session_id, participant["agent_id"], turn_id, 1, ended=True))
    house.work()


@pytest.mark.parametrize("words", [("Good ", "day"), ("こん", "にちは🦀")])
def test_words_are_told_before_the_line_that_has_them(house: House, words: tuple[str, str]) -> None:
    house.furnish(answers=AnswerHub())
    session_id = house.session()
    place = f"/sessions/{session_id}/events"
    events = house.follow(
        place, 1, until='"completed"', meanwhile=lambda: _answering(house, session_id, *words)
    )
    parts = [event["data"] for event in events if event["event"] == "answer"]
    assert "".join(part["text"] for part in parts) == "".join(words)
    assert parts[-1]["ended"]
    assert not any("id" in event for event in events if event["event"] == "answer")
    kinds = [event["event"] for event in events]
    assert kinds.index("answer") < len(kinds) - 1 - kinds[::-1].index("line")


def test_in_ag_ui_the_words_are_a_message_that_its_line_takes_back_or_ends(house: House) -> None:
    house.furnish(answers=AnswerHub())
    session_id = house.session()
    place = f"/sessions/{session_id}/events?format=agui"
    events = house.follow(
        place, 1, until="RUN_FINISHED", meanwhile=lambda: _answering(house, session_id, "I think")
    )
    told = [event["data"] for event in events if event["data"]["type"].startswith("TEXT_MESSAGE")]
    kinds = [event["type"].removeprefix("TEXT_MESSAGE_") for event in told]
    assert kinds == ["CHUNK", "START", "CONTENT", "CHUNK", "END"]
    assert told[-1]["metadata"]["withdrawn"], "the line says something else"


def test_who_may_not_read_the_session_sees_no_word_of_it(house: House) -> None:
    hub = AnswerHub()
    house.furnish(answers=hub)
    session_id, other = house.session(), house.session()
    hub.publish(AnswerPart(session_id, "a", "t1", 1, "secret"))
    assert "secret" in house.call("GET", f"/sessions/{session_id}/events?seconds=1").text
    assert "secret" not in house.call("GET", f"/sessions/{other}/events?seconds=1").text
    stranger, _ = house.key(Scope.CHAT)
    problem(house.call("GET", f"/sessions/{session_id}/events?seconds=1", key=stranger), 404)


def test_who_asks_for_other_kinds_of_lines_gets_no_words(house: House) -> None:
    house.furnish(answers=AnswerHub())
    session_id = house.session()
    events = house.follow(
        f"/sessions/{session_id}/events?kinds=action",
        1,
        until='"completed"',
        meanwhile=lambda: _answering(house, session_id, "Hello"),
    )
    assert not [event for event in events if event["event"] == "answer"]


def test_a_long_line_has_its_id_on_its_last_event_only(shared: House) -> None:
    session_id = shared.session()
    shared.say(session_id, "海" * 9_000)
    events = shared.follow(f"/sessions/{session_id}/events?format=agui&after=0", 3)
    assert ["id" in event for event in events] == [False, False, True]
    assert "".join(event["data"]["delta"] for event in events) == "海" * 9_000


def test_another_format_does_not_exist(shared: House) -> None:
    answer = shared.call("GET", f"/sessions/{shared.session()}/events?format=xml")
    problem(answer, 422, "format")
