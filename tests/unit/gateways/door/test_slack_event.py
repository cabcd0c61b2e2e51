"""Slack's events, as its reference shows them and as nobody should send them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.chat.event import ChatButtonEvent, ChatMessageEvent
from opencrab.domain.conversation.sent_file import SentFile
from opencrab.gateways.door.slack_event import parse_slack_event, slack_words
from tests.slack.fake import BOT, CHANNEL, OWNER

EVENT: dict[str, Any] = {
    "type": "app_mention",
    "user": OWNER,
    "text": f"<@{BOT}> 元気?",
    "ts": "1767603600.000100",
    "channel": CHANNEL,
}
SENT: dict[str, Any] = {
    "type": "event_callback",
    "event": EVENT,
    "authorizations": [{"user_id": BOT, "is_bot": True}],
}
PRIVATE = {"type": "message", "channel_type": "im", "channel": "D1", "text": "やあ"}


def parsed(**changes: Any) -> Any:
    return parse_slack_event("Ev1", SENT | {"event": EVENT | changes})


def test_a_mention_is_answered_in_its_thread_without_the_mention() -> None:
    said = parsed()
    assert isinstance(said, ChatMessageEvent)
    assert (said.text, said.mentions_bot, said.room.is_group) == ("元気?", True, True)
    assert (said.thread, said.message_id) == ("1767603600.000100", "1767603600.000100")
    assert parsed(thread_ts="1767600000.000001").thread == "1767600000.000001"


def test_a_private_message_is_answered_beside_it() -> None:
    said = parsed(**PRIVATE)
    assert (said.text, said.room.is_group, said.thread) == ("やあ", False, None)
    assert parsed(**PRIVATE, thread_ts="1767600000.000001").thread == "1767600000.000001"


FILE: dict[str, Any] = {
    "id": "F0S43PZDF",
    "created": 1531763342,
    "name": "海 の写真.png",
    "title": "海",
    "mimetype": "image/png",
    "filetype": "png",
    "size": 48,
    "mode": "hosted",
    "is_external": False,
    "url_private": "https://files.slack.com/files-pri/T061EG9RZ-F0S43PZDF/_.png",
    "url_private_download": "https://files.slack.com/files-pri/T061EG9RZ-F0S43PZDF/download/_.png",
    "file_access": "visible",
}


@pytest.mark.parametrize("text", ["やあ", ""])
def test_files_come_with_words_or_alone(text: str) -> None:
    said = parsed(**PRIVATE | {"text": text, "subtype": "file_share"}, files=[FILE])
    address = FILE["url_private_download"]
    assert said.files == (SentFile(name="海 の写真.png", size=48, url=address),)
    assert (said.text, said.attached) == (text, None)
    mentioned = parsed(files=[FILE, FILE])
    assert (mentioned.text, len(mentioned.files)) == ("元気?", 2)


def test_a_file_of_another_organization_has_a_name_only() -> None:
    elsewhere = {"id": "F1", "created": 0, "file_access": "check_file_info"}
    assert parsed(files=[elsewhere]).files == (SentFile(name="file-1"),)
    assert parsed(files=[FILE | {"url_private_download": None}]).files[0].url == FILE["url_private"]


@pytest.mark.parametrize("files", [None, {}, "x", [None], [{"name": "\ud83e", "size": "x"}]])
def test_files_that_are_none_break_nothing(files: object) -> None:
    assert parsed(files=files).text == "元気?"


def test_a_text_is_cut_to_what_a_message_holds() -> None:
    assert parsed(text="蟹" * 30_000).text == "蟹" * 21_845


@pytest.mark.parametrize("ts", ["nan", "inf", "1e30", "67768036191676796", "soon", ""])
def test_a_time_that_is_none_is_passed_over(ts: str) -> None:
    assert parsed(ts=ts) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"type": "message", "channel_type": "channel"},
        {"bot_id": "B1"},
        {"subtype": "message_changed"},
        {"subtype": "bot_message"},
        {"user": None, "subtype": "message_deleted"},
        {"ts": "soon"},
        {"channel": "../x"},
        {"channel": None, "ts": None},
    ],
)
def test_what_no_person_said_is_passed_over(changes: dict[str, Any]) -> None:
    assert parsed(**changes) is None


@pytest.mark.parametrize("sent", [None, [], {}, {"type": "event_callback"}, {"command": "/ask"}])
def test_what_is_malformed_is_passed_over_or_unknown(sent: object) -> None:
    found = parse_slack_event("Ev1", sent)
    assert found is None or found.user_id is None


def test_a_button_and_a_command_say_who_and_where() -> None:
    action = {"value": "oc:ap:1:n", "action_ts": "1767603600.1"}
    press = {"type": "block_actions", "user": {"id": OWNER}, "channel": {"id": "D1"}}
    found = parse_slack_event("1.2.3", press | {"actions": [action]})
    assert isinstance(found, ChatButtonEvent)
    assert (found.id, found.data, found.user_id, found.room.is_group) == (
        "1-2-3",
        "oc:ap:1:n",
        OWNER,
        False,
    )
    asked = parse_slack_event(
        "1.2", {"command": "/ask", "text": "a &amp; b", "user_id": OWNER, "channel_id": CHANNEL}
    )
    assert isinstance(asked, ChatMessageEvent)
    assert (asked.text, asked.mentions_bot, asked.thread) == ("a & b", True, None)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"<@{BOT}|kani> hi <@U2>", "hi @U2"),
        (
            "<https://a.example|地図> <https://b.example>",
            "地図 (https://a.example) https://b.example",
        ),
        ("<#C1|general> <!here>", "#general <!here>"),
        ("1 &lt; 2 &amp;amp; 3", "1 < 2 &amp; 3"),
    ],
)
def test_words_are_those_that_people_see(text: str, words: str) -> None:
    assert slack_words(text, (BOT,)) == words


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)


@given(
    st.sampled_from(sorted(EVENT)), st.sampled_from(["event", "authorizations", "actions"]), _JSON
)
def test_nothing_odd_in_a_field_stops_the_others(field: str, outer: str, odd: Any) -> None:
    parse_slack_event("Ev1", SENT | {"event": EVENT | {field: odd}})
    parse_slack_event("Ev1", SENT | {outer: odd})
    parse_slack_event("Ev1", {"type": "block_actions", outer: odd})
