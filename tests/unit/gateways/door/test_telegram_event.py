"""Telegram's updates, as its reference shows them and as nobody should send them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.chat.event import Attached, ChatButtonEvent, ChatEvent, ChatMessageEvent
from opencrab.domain.conversation.sent_file import SentFile
from opencrab.gateways.door.telegram_event import parse_telegram_update

BOT = ("4242", "kani_bot")
MESSAGE: dict[str, Any] = {
    "message_id": 5,
    "from": {"id": 1001, "is_bot": False, "first_name": "たろう"},
    "chat": {"id": -1009, "type": "supergroup"},
    "date": 1_767_603_600,
    "text": "@Kani_Bot 元気?",
}
PRIVATE = {"chat": {"id": 1001, "type": "private"}}


def parsed(**changes: Any) -> Any:
    return parse_telegram_update({"update_id": 9, "message": MESSAGE | changes}, BOT)


def test_a_mention_is_answered_as_a_reply_without_the_mention() -> None:
    said = parsed()
    assert isinstance(said, ChatMessageEvent)
    assert (said.text, said.mentions_bot, said.room.is_group) == ("元気?", True, True)
    assert (said.id, said.thread, said.message_id, said.user_id) == ("9", "m5", "5", "1001")


@pytest.mark.parametrize(
    ("forward", "holds_others"),
    [
        ({}, False),
        ({"forward_origin": {"type": "user", "sender_user": {"id": 1001}}}, False),
        ({"forward_origin": {"type": "user", "sender_user": {"id": 7}}}, True),
        ({"forward_origin": {"type": "hidden_user", "sender_user_name": "たろう"}}, True),
        ({"forward_origin": {"type": "channel", "chat": {"id": 1001}}}, True),
        ({"forward_origin": None}, True),
        ({"forward_date": 1_767_603_000}, True),
    ],
)
def test_what_is_forwarded_from_others_counts_as_theirs(
    forward: dict[str, Any], *, holds_others: bool
) -> None:
    assert parsed(**forward).holds_others is holds_others


@pytest.mark.parametrize(
    ("text", "words", "is_mentioned"),
    [
        ("/ask 教えて", "教えて", True),
        ("/ASK@kani_bot\n教えて", "教えて", True),
        ("/ask@other_bot 君は", "/ask@other_bot 君は", False),
        ("/asking", "/asking", False),
        ("ねえ @kani_bot", "ねえ", True),
        ("@kani_botto 君は", "@kani_botto 君は", False),
        ("蟹", "蟹", False),
    ],
)
def test_who_is_meant_is_told_by_name_or_command(
    text: str, words: str, *, is_mentioned: bool
) -> None:
    said = parsed(text=text)
    assert (said.text, said.mentions_bot) == (words, is_mentioned)


def test_a_private_message_is_answered_beside_it() -> None:
    said = parsed(**PRIVATE, text="/start")
    assert (said.text, said.room.is_group, said.thread) == ("/start", False, None)
    assert parsed(**PRIVATE, text="/ask").text == "/ask"
    assert parsed(**PRIVATE, text=None, voice={}).attached is Attached.AUDIO
    caption = parsed(**PRIVATE, text=None, photo=[{}], caption="これは?")
    assert (caption.text, caption.attached) == ("これは?", None)


SIZES = [
    {"file_id": "s", "file_unique_id": "1", "width": 90, "height": 67, "file_size": 1_253},
    {"file_id": "m", "file_unique_id": "2", "width": 800, "height": 600, "file_size": 96_000},
    {"file_id": "l", "file_unique_id": "3", "width": 9_000, "height": 9_000, "file_size": 4**11},
]


def test_the_largest_picture_that_fits_is_taken_with_or_without_words() -> None:
    said = parsed(**PRIVATE, text=None, photo=SIZES)
    assert (said.text, said.attached) == ("", None)
    assert said.files == (SentFile(name="photo-5.jpg", size=96_000, url="m"),)
    only = parsed(**PRIVATE, text=None, photo=SIZES[2:], caption="これは?")
    assert (only.text, only.files[0].size) == ("これは?", 4**11)


def test_a_document_has_the_name_that_its_sender_gave_it() -> None:
    told = {"file_id": "d", "file_unique_id": "4", "file_name": "メモ\n1.md", "file_size": 12}
    said = parsed(**PRIVATE, text=None, document=told | {"mime_type": "text/markdown"})
    assert said.files == (SentFile(name="メモ 1.md", size=12, url="d"),)


@pytest.mark.parametrize("name", [None, 7, " ", "\ud83e", "a\0b"])
def test_a_document_without_a_name_gets_one(name: object) -> None:
    said = parsed(**PRIVATE, text=None, document={"file_id": "d", "file_name": name})
    assert [(each.name, each.url) for each in said.files] == [("file-5", "d")]


def test_a_moving_picture_is_no_document() -> None:
    said = parsed(**PRIVATE, text=None, animation={}, document={"file_id": "d"}, caption="見て")
    assert (said.attached, said.files, said.text) == (Attached.VIDEO, (), "見て")


def test_text_that_no_message_can_hold_is_made_to_fit() -> None:
    assert parsed(text="a\0b").text == "ab"
    assert parsed(text="\ud83e").text == "\N{REPLACEMENT CHARACTER}" or parsed(text="\ud83e").text
    assert len(parsed(text="蟹" * 30_000).text) == 8_192


@pytest.mark.parametrize(
    "changes",
    [
        {"from": {"id": 5, "is_bot": True}},
        {"from": None},
        {"from": {"id": "x"}},
        {"chat": {"id": 1, "type": "channel"}},
        {"chat": None},
        {"date": "soon"},
        {"date": 10**30},
        {"message_id": None},
        {"message_thread_id": "x", "is_topic_message": True},
    ],
)
def test_what_is_malformed_or_of_bots_is_passed_over(changes: dict[str, Any]) -> None:
    assert parsed(**changes) is None


def test_a_press_has_what_we_put_into_the_button() -> None:
    query = {"id": "88", "from": MESSAGE["from"], "message": MESSAGE, "data": "oc:ap:1:n"}
    press = parse_telegram_update({"update_id": 9, "callback_query": query})
    assert isinstance(press, ChatButtonEvent)
    assert (press.data, press.reply_token, press.user_id) == ("oc:ap:1:n", "88", "1001")
    del query["message"]
    assert parse_telegram_update({"update_id": 9, "callback_query": query}) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


@given(
    st.dictionaries(
        st.sampled_from([*MESSAGE, "caption", "reply_to_message", "photo", "document"]), JSON
    )
)
def test_no_update_breaks_the_reader(changes: dict[str, Any]) -> None:
    found = parsed(**changes)
    assert found is None or isinstance(found, ChatEvent)
