"""Wishes: what a frame may say, and how everything else is refused without being repeated."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.conversation.message import LineKind
from opencrab.domain.errors import Invalid, TooLarge
from opencrab.engine.conversation.live import WatchTarget
from opencrab.gateways.language.error_texts import translate_error_text
from opencrab.gateways.websocket.requests import (
    FRAME_BYTES,
    MentorRequest,
    Ping,
    Say,
    Subscribe,
    Unsubscribe,
    read_websocket_frame,
    websocket_frame_id,
)


@pytest.mark.parametrize(
    ("frame", "wish"),
    [
        ('{"type":"ping"}', Ping(type="ping")),
        ('{"type":"ping","id":"1"}', Ping(type="ping", id="1")),
        (
            '{"type":"subscribe","id":"1","session_id":"s1","after":3,"kinds":["speech"]}',
            Subscribe(type="subscribe", id="1", session_id="s1", after=3, kinds=(LineKind.SPEECH,)),
        ),
        ('{"type":"unsubscribe","agent_id":"a"}', Unsubscribe(type="unsubscribe", agent_id="a")),
        (
            '{"type":"message","id":"1","session_id":"s1","text":"こんにちは🦀"}',
            Say(type="message", id="1", session_id="s1", text="こんにちは🦀"),
        ),
        (
            '{"type":"mentor","id":"1","session_id":"s1","text":"be brief"}',
            MentorRequest(type="mentor", id="1", session_id="s1", text="be brief"),
        ),
    ],
)
def test_a_wish_is_read(frame: str, wish: object) -> None:
    assert read_websocket_frame(frame) == wish


def test_a_name_that_stands_twice_is_named_and_cut() -> None:
    for name in ("text", "x" * 1_000):
        with pytest.raises(Invalid, match="twice") as caught:
            read_websocket_frame(f'{{"type":"message","{name}":"a","{name}":"b"}}')
        assert name[:60] in caught.value.message
        assert len(caught.value.message) < 130
        assert caught.value.cure == "send each name once"


def test_what_is_watched_is_a_session_or_an_agent() -> None:
    wish = read_websocket_frame('{"type":"subscribe","agent_id":"a"}')
    assert isinstance(wish, Subscribe)
    assert wish.watched == WatchTarget(kind="agent", id="a")


@pytest.mark.parametrize(
    "frame",
    [
        "",
        "null",
        "[]",
        "{",
        "1",
        '"ping"',
        "{}",
        '{"type":null}',
        '{"type":"PING"}',
        '{"type":"ping","type":"ping"}',
        '{"type":"ping","more":1}',
        '{"type":"ping","id":1}',
        '{"type":"ping","id":""}',
        '{"type":"ping","id":"a b"}',
        '{"type":"subscribe"}',
        '{"type":"subscribe","session_id":"s","agent_id":"a"}',
        '{"type":"subscribe","session_id":"s/../x"}',
        '{"type":"subscribe","session_id":"s","after":-1}',
        '{"type":"subscribe","session_id":"s","after":"3"}',
        '{"type":"subscribe","session_id":"s","after":1.5}',
        '{"type":"subscribe","session_id":"s","after":NaN}',
        '{"type":"subscribe","session_id":"s","after":99999999999}',
        '{"type":"subscribe","session_id":"s","kinds":[]}',
        '{"type":"subscribe","session_id":"s","kinds":["thoughts"]}',
        '{"type":"subscribe","session_id":"s","kinds":"speech"}',
        '{"type":"message","session_id":"s","text":"no id"}',
        '{"type":"message","id":"1","text":"nowhere"}',
        '{"type":"message","id":"1","session_id":"s","text":""}',
        '{"type":"message","id":"1","session_id":"s","text":"\\u0000"}',
        '{"type":"message","id":"1","session_id":"s","text":"\\ud83e"}',
        '{"type":"message","id":"1","session_id":"s","text":"x","source":"cli"}',
        '{"type":"mentor","id":"1","session_id":"s","text":null}',
        "[" * 5_000,
        '{"a":' * 500 + "1" + "}" * 500,
    ],
)
def test_anything_else_is_refused_in_words_that_have_a_translation(frame: str) -> None:
    with pytest.raises(Invalid) as refusal:
        read_websocket_frame(frame)
    for told in (refusal.value.message, refusal.value.cure):
        assert translate_error_text("ja", str(told)) is not None


def test_a_frame_is_bounded_in_bytes() -> None:
    frame = {"type": "message", "id": "1", "session_id": "s", "text": "海" * 10_000}
    assert isinstance(read_websocket_frame(json.dumps(frame, ensure_ascii=False)), Say)
    with pytest.raises(TooLarge):
        read_websocket_frame(json.dumps({**frame, "text": "海" * 11_000}, ensure_ascii=False))
    with pytest.raises(TooLarge):
        read_websocket_frame("x" * (FRAME_BYTES + 1))


def test_a_refusal_names_the_field_and_repeats_nothing() -> None:
    with pytest.raises(Invalid) as refusal:
        read_websocket_frame('{"type":"message","id":"1","session_id":"my secret!","text":"秘密"}')
    assert refusal.value.field == "session_id"
    assert "secret" not in str(vars(refusal.value))
    with pytest.raises(Invalid) as refusal:
        read_websocket_frame('{"type":"<script>","id":"1"}')
    assert refusal.value.field == "type"
    assert "script" not in str(vars(refusal.value))


@pytest.mark.parametrize(
    ("frame", "known"),
    [
        ('{"id":"a1"}', "a1"),
        ('{"id":"a1","type":7}', "a1"),
        ('{"id":7}', None),
        ('{"id":"\\n"}', None),
        ("[]", None),
        ("{", None),
        ("[" * 5_000, None),
        ('{"type":"ping"}', None),
    ],
)
def test_the_id_is_found_even_where_nothing_else_is_right(frame: str, known: str | None) -> None:
    assert websocket_frame_id(frame) == known


@given(st.text(max_size=200) | st.from_regex(r'\{"type":"[a-z]+",.*\}', fullmatch=True))
def test_no_frame_is_anything_but_a_wish_or_a_refusal(frame: str) -> None:
    websocket_frame_id(frame)
    with suppress(Invalid):
        read_websocket_frame(frame)
