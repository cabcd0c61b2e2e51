"""What a real model answers: words, calls, pictures, and what it stops at."""

import struct
import zlib
from base64 import b64encode

import jsonschema
import pytest

from opencrab.ports.models.model import CallReturn, ChatMessage, Image
from tests.live.conftest import WEATHER, Live

pytestmark = pytest.mark.live

CUT = {"length", "max_tokens", "MAX_TOKENS"}
CITIES = "What is the weather in Tokyo and in Osaka? Ask for both cities at once, in two calls."


def _square(red: int, green: int, blue: int) -> Image:
    """A picture of one colour, 64 dots wide and high."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        checked = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checked)

    rows = (b"\0" + bytes((red, green, blue)) * 64) * 64
    header = struct.pack(">IIBBBBB", 64, 64, 8, 2, 0, 0, 0)
    parts = chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b"")
    return Image("image/png", b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(parts)).decode())


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("Reply with the one word crab, in English.", ("crab",)),
        ("「かに」という一語だけを日本語で答えてください。", ("かに", "カニ", "蟹")),
    ],
    ids=["english", "japanese"],
)
def test_a_question_is_answered_in_its_language(
    live: Live, asked: str, expected: tuple[str, ...]
) -> None:
    answer = live.chat(live.asked(asked))
    assert not answer.calls
    assert answer.model
    assert live.is_random or any(word in answer.text.lower() for word in expected)


def test_an_action_is_called_with_arguments_of_its_schema(live: Live) -> None:
    answer = live.chat(live.acting("What is the weather in Tokyo? 東京の天気は？"))
    if live.provider.kind == "scripted":
        pytest.skip("the scripted model calls what its rules know")
    assert answer.calls
    assert answer.text == ""
    call = answer.calls[0]
    assert call.name == WEATHER.name
    jsonschema.validate(call.arguments, WEATHER.parameters)
    assert live.is_random or "tokyo" in str(call.arguments).lower()


def test_two_actions_are_called_at_once(remote: Live) -> None:
    answer = remote.chat(remote.acting(CITIES))
    if len(answer.calls) < 2:
        pytest.skip(f"{remote.name} called {len(answer.calls)} at a time")
    assert len({call.id for call in answer.calls}) == len(answer.calls)
    whole = answer.calls[:-1] if answer.finish in CUT else answer.calls
    assert all(call.name == WEATHER.name and call.arguments is not None for call in whole)


def test_what_a_call_came_to_is_understood(live: Live) -> None:
    first = live.acting("What is the weather in Tokyo?")
    called = live.chat(first)
    said = ChatMessage("assistant", "", calls=called.calls, replay=called.replay)
    results = [
        CallReturn(call.id, call.name, '{"sky":"晴れ","celsius":22}') for call in called.calls
    ]
    answer = live.chat(live.asked(first.turns[0].text, said, *results, actions=(WEATHER,)))  # type: ignore[union-attr]
    assert answer.usage.is_counted
    assert live.is_random or "22" in answer.text


def test_a_picture_is_seen(live: Live) -> None:
    if not live.info.vision:
        pytest.skip(f"{live.name} is not known to see")
    seen = ChatMessage("user", "Which colour is this? One word.", images=(_square(255, 0, 0),))
    answer = live.chat(live.asked("", turns=(seen,)))
    assert live.is_random or "red" in answer.text.lower()


def test_an_answer_ends_where_its_tokens_end(remote: Live) -> None:
    # One that was never trained stops after a word, unless it must call.
    asked = remote.acting if remote.is_random else remote.asked
    answer = remote.chat(asked("Count from 1 to 500, every number.", max_output_tokens=20))
    assert answer.finish in CUT
    assert answer.usage.output_tokens <= 20 or not remote.info.temperature


def test_an_answer_ends_at_a_stop_word(remote: Live) -> None:
    if not remote.info.temperature:
        pytest.skip(f"{remote.name} takes no stop words")
    answer = remote.chat(remote.asked("Count from one to nine, in words.", stop=("five",)))
    assert "six" not in answer.text.lower()
    assert remote.is_random or "four" in answer.text.lower()


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_temperature_is_taken_or_left_out(live: Live, temperature: float) -> None:
    answer = live.chat(live.asked("Say hello. 挨拶して。", temperature=temperature))
    assert answer.usage.is_counted


def test_a_stream_says_when_its_first_words_came(remote: Live) -> None:
    request = remote.acting("What is the weather in Kyoto?")
    answer = remote.chat(request)
    assert answer.first_token_ms is not None
    assert 0 <= answer.first_token_ms <= request.timeout_seconds * 1_000


def test_an_answer_in_one_piece_is_read_as_well(remote: Live) -> None:
    model = remote.chat_model(stream=False)
    request = remote.acting("What is the weather in Kyoto?")
    answer = model.chat(request, model.encode(request))
    assert answer.calls
    assert answer.first_token_ms is None
