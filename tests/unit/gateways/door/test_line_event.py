"""LINE's events, as its reference shows them and as nobody should send them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.chat.event import Attached, ChatButtonEvent, ChatMessageEvent
from opencrab.domain.conversation.sent_file import SentFile
from opencrab.gateways.door.line_event import parse_line_event
from tests.line.fake import BOT, GROUP, OWNER

MESSAGE: dict[str, Any] = {
    "replyToken": "reply-token-of-a-message",
    "type": "message",
    "mode": "active",
    "timestamp": 1_767_603_600_000,
    "source": {"type": "user", "userId": OWNER},
    "webhookEventId": "01FZ74A0TDDPYRVKNK77XKC3ZR",
    "deliveryContext": {"isRedelivery": False},
    "message": {
        "id": "444573844083572737",
        "type": "text",
        "quoteToken": "q3Plxr4AgKd",
        "text": "こんにちは (love)",
        "emojis": [{"index": 6, "length": 6, "productId": "5ac1bfd5040ab15980c9b435"}],
    },
    "unheard-of": {"by": "us"},
}


def changed(**fields: Any) -> dict[str, Any]:
    """The event with some fields changed."""
    return MESSAGE | fields


def test_a_private_message_has_its_person_time_and_token() -> None:
    said = parse_line_event(MESSAGE)
    assert isinstance(said, ChatMessageEvent)
    assert (said.room.binding, said.room.is_group) == (f"line.{OWNER}", False)
    assert (said.user_id, said.text, said.attached) == (OWNER, "こんにちは (love)", None)
    token = said.token()
    assert token is not None
    assert (token.until - said.at).total_seconds() == 50
    assert MESSAGE["replyToken"] not in repr(said) + repr(token)


def test_a_group_s_message_mentions_the_bot_only_if_line_says_so() -> None:
    source = {"type": "group", "groupId": GROUP, "userId": OWNER}
    mentions = {"mentionees": [{"index": 0, "length": 3, "type": "user", "userId": BOT}]}
    said = parse_line_event(
        changed(source=source, message=MESSAGE["message"] | {"mention": mentions})
    )
    assert isinstance(said, ChatMessageEvent)
    assert (said.room.id, said.room.is_group, said.mentions_bot) == (GROUP, True, False)
    mentions["mentionees"][0]["isSelf"] = True
    said = parse_line_event(
        changed(source=source, message=MESSAGE["message"] | {"mention": mentions})
    )
    assert isinstance(said, ChatMessageEvent)
    assert said.mentions_bot


@pytest.mark.parametrize("kind", ["video", "audio", "location", "sticker"])
def test_what_is_no_text_says_what_it_is(kind: str) -> None:
    said = parse_line_event(changed(message={"id": "1", "type": kind, "fileName": "x.pdf"}))
    assert isinstance(said, ChatMessageEvent)
    assert (said.text, said.attached) == ("", Attached(kind))


PICTURE: dict[str, Any] = {
    "type": "image",
    "id": "354718705033693859",
    "quoteToken": "q3Plxr4AgKd",
    "contentProvider": {"type": "line"},
    "imageSet": {"id": "E005D41A7288F41B6", "index": 1, "total": 2},
}


def test_a_picture_and_a_file_are_the_content_of_their_messages() -> None:
    said = parse_line_event(changed(message=PICTURE))
    assert isinstance(said, ChatMessageEvent)
    assert (said.text, said.attached) == ("", None)
    assert said.files == (SentFile(name="photo-693859.jpg", url="354718705033693859"),)
    file = {"type": "file", "id": "325708", "fileName": "メモ.md", "fileSize": 2_138}
    said = parse_line_event(changed(message=file))
    assert isinstance(said, ChatMessageEvent)
    assert said.files == (SentFile(name="メモ.md", size=2_138, url="325708"),)


def test_a_picture_that_line_does_not_keep_is_elsewhere() -> None:
    for told in ("https://example.com/original.jpg", "354718705033693859", "x" * 3_000, None):
        provider = {"type": "external", "originalContentUrl": told}
        said = parse_line_event(changed(message=PICTURE | {"contentProvider": provider}))
        assert isinstance(said, ChatMessageEvent)
        assert said.files[0].url == "elsewhere:"


def test_a_button_says_what_we_put_into_it() -> None:
    press = parse_line_event(changed(type="postback", postback={"data": "oc:ap:1:n"}))
    assert isinstance(press, ChatButtonEvent)
    assert press.data == "oc:ap:1:n"


@pytest.mark.parametrize(
    "event",
    [
        changed(mode="standby"),
        changed(type="follow"),
        changed(type="unsend"),
        changed(source={}),
        changed(source=None),
        changed(source={"type": "user", "userId": "../x"}),
        changed(source={"type": "square", "userId": OWNER}),
        changed(webhookEventId=None),
        changed(webhookEventId="a" * 500),
        changed(timestamp="soon"),
        changed(timestamp=10**30),
        changed(timestamp=67_768_036_191_676_796_000),
        changed(message={"type": "text", "text": "?", "id": 7 * "x/"}),
        changed(type="postback", postback={"data": "x" * 301}),
        None,
        [],
        "event",
    ],
    ids=str,
)
def test_what_is_no_message_is_passed_over(event: object) -> None:
    assert parse_line_event(event) is None


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)


@given(st.sampled_from(sorted(MESSAGE)), st.sampled_from(sorted(MESSAGE["message"])), _JSON)
def test_nothing_odd_in_a_field_stops_the_others(field: str, inner: str, odd: Any) -> None:
    parse_line_event(changed(**{field: odd}))
    event = changed(message=MESSAGE["message"] | {inner: odd, "mention": odd})
    parse_line_event(json.loads(json.dumps(event)))
