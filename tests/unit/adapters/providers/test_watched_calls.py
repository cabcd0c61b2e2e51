"""A call that is watched: its words while they arrive, and its end before the answer's."""

import json
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.providers.anthropic.endpoint import AnthropicWire
from opencrab.adapters.providers.google.endpoint import GoogleWire
from opencrab.adapters.providers.ollama.endpoint import OllamaWire
from opencrab.adapters.providers.openai.endpoint import OpenAIWire
from opencrab.adapters.providers.openrouter.endpoint import OpenRouterWire
from opencrab.adapters.providers.vendor import VendorModel
from opencrab.adapters.providers.vendor_line import STOPPED
from opencrab.adapters.providers.wire.wire import Endpoint, Wire
from opencrab.domain.money.budget import Usage
from opencrab.domain.turn.record import ModelAnswer
from opencrab.ports.models.model import ActionSchema, ChatMessage, ChatRequest, ModelInfo
from tests.unit.adapters.providers.fake import Replying
from tests.unit.adapters.providers.tiny import TinyWire, frames
from tests.unit.adapters.providers.watching import Watcher

KEY = "sk-crab-0123456789"
LIST = ActionSchema(name="ws_list", description="lists", parameters={"type": "object"})
REQUEST = ChatRequest("", (LIST,), "", (ChatMessage("user", "hello"),), 100)


INFO = ModelInfo(name="蟹屋:crab-1")
THINKER = replace(INFO, leading_blocks=True)


def _chat(
    wire: Wire,
    stream: bytes,
    watcher: Watcher,
    info: ModelInfo = INFO,
    headers: Mapping[str, str] = MappingProxyType({}),
) -> ModelAnswer:
    endpoint = Endpoint("蟹屋", "http://crab/v1", KEY)
    transport = Replying(stream, headers=headers)
    model = VendorModel(wire, endpoint, "crab-1", info, transport)
    return model.chat(REQUEST, model.encode(REQUEST), watcher)


def _tiny(*words: str, ended: bool = True) -> bytes:
    return frames(*({"w": word} for word in words), *([{"end": 1}] if ended else []))


def _sse(*chunks: Any) -> bytes:
    return b"".join(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks)


def _openai(*deltas: dict[str, Any]) -> bytes:
    return _sse(*({"choices": [{"index": 0, "delta": delta}]} for delta in deltas))


def _said(*words: str) -> bytes:
    return _openai(*({"content": word} for word in words)) + b"data: [DONE]\n\n"


def _claude(*events: dict[str, Any]) -> bytes:
    return b"".join(
        f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events
    )


def test_the_words_are_shown_as_they_arrive() -> None:
    watcher = Watcher()
    answer = _chat(TinyWire(), _tiny("こん", "にちは", "🦀"), watcher)
    assert watcher.shown == ["こん", "こんにちは", "こんにちは🦀", "こんにちは🦀"]
    assert answer.text == "こんにちは🦀"


OPENAI = _openai({"content": "Hel"}, {"content": "lo 世界"})
GOOGLE = _sse(
    {"candidates": [{"content": {"parts": [{"text": "hmm", "thought": True}]}}]},
    {"candidates": [{"content": {"parts": [{"text": "Hel"}]}}]},
    {"candidates": [{"content": {"parts": [{"text": "lo 世界"}]}}]},
)
CLAUDE = _claude(
    {"type": "message_start", "message": {"usage": {"input_tokens": 40, "output_tokens": 1}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": "Hello 世界"},
    },
)
OLLAMA = b'{"message":{"content":"Hel"}}\n{"message":{"content":"lo \xe4\xb8\x96\xe7\x95\x8c"}}\n'


@pytest.mark.parametrize(
    ("wire", "stream"),
    [
        (OpenAIWire(), OPENAI),
        (GoogleWire(), GOOGLE),
        (AnthropicWire(Endpoint("claude", "http://crab").base_url), CLAUDE),
        (OllamaWire(), OLLAMA),
    ],
    ids=["openai", "google", "anthropic", "ollama"],
)
def test_a_stopped_call_returns_what_has_arrived_from_every_vendor(
    wire: Wire, stream: bytes
) -> None:
    frames_that_came = 2 if wire.framing == "ndjson" or b"Hello" not in stream else 3
    if isinstance(wire, GoogleWire):
        frames_that_came = 3
    answer = _chat(wire, stream, watcher := Watcher(stop_after=frames_that_came))
    assert watcher.shown[-1] == "Hello 世界"
    assert (answer.text, answer.finish, answer.calls) == ("Hello 世界", STOPPED, ())
    assert answer.usage.output_tokens > 0


def test_what_the_vendor_has_counted_is_kept_and_the_answer_is_estimated() -> None:
    wire = AnthropicWire("http://crab")
    usage = _chat(wire, CLAUDE, Watcher(stop_after=3)).usage
    assert usage.input_tokens == 40
    assert usage.output_tokens > 1


def test_a_call_that_is_stopped_before_its_first_word_has_no_answer() -> None:
    answer = _chat(OpenAIWire(), _openai({"role": "assistant"}), Watcher(stop_after=1))
    assert (answer.text, answer.usage) == ("", Usage())


def test_words_beside_a_tool_call_are_no_partial_answer() -> None:
    call = {"index": 0, "id": "c1", "function": {"name": "ws_list", "arguments": "{}"}}
    stream = _openai({"content": "Let me look."}, {"tool_calls": [call]}, {"content": ""})
    answer = _chat(OpenAIWire(), stream, Watcher(stop_after=2))
    assert (answer.text, answer.calls) == ("", ())


def test_words_beside_a_tool_call_of_ollama_are_no_partial_answer() -> None:
    call = {"function": {"name": "ws_list", "arguments": {}}}
    lines = ({"message": {"content": "I will look."}}, {"message": {"tool_calls": [call]}})
    stream = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    assert _chat(OllamaWire(), stream, Watcher(stop_after=2)).text == ""


def test_the_beginning_of_the_key_is_not_kept_of_a_stopped_call() -> None:
    answer = _chat(OpenAIWire(), _openai({"content": f"It is {KEY[:-1]}"}), Watcher(stop_after=1))
    assert answer.text.strip() == "It is"


def test_a_stopped_call_keeps_the_vendors_id_under_which_its_cost_is_looked_up() -> None:
    watcher = Watcher(stop_after=1)
    stream = _openai({"content": "Hello"})
    answer = _chat(OpenRouterWire(), stream, watcher, headers={"x-generation-id": "gen-1"})
    assert (answer.text, answer.provider_call_id) == ("Hello", "gen-1")
    assert "provider_call_id" not in answer.model_dump()


def test_no_token_of_what_has_arrived_is_booked_too_low() -> None:
    text = "0f8fad5b-d9cb-469f-a165-70867728950e" * 20
    usage = _chat(OpenAIWire(), _openai({"content": text}), Watcher(stop_after=1)).usage
    assert usage.output_tokens >= len(text)


def test_an_answer_that_is_complete_is_not_cut() -> None:
    answer = _chat(TinyWire(), _tiny("はい"), Watcher(stop_after=2))
    assert (answer.text, answer.finish) == ("はい", "stop")


def test_a_stop_is_heeded_before_an_answer_in_one_piece_is_read() -> None:
    whole = json.dumps({"text": "はい", "usage": 3}).encode()
    headers = {"content-type": "application/json"}
    assert _chat(TinyWire(), whole, Watcher(), headers=headers).text == "はい"


def test_thinking_and_memory_notes_are_not_shown_while_they_arrive() -> None:
    watcher = Watcher()
    words = ("<thi", "nk>a sec", "ret</think><mem", "ory>note</memory>Hello", " there")
    answer = _chat(OpenAIWire(), _said(*words), watcher, THINKER)
    assert not any("sec" in text or "note" in text or "<" in text for text in watcher.shown)
    assert watcher.shown[-1] == answer.text


def test_a_thought_that_was_never_opened_is_taken_back() -> None:
    watcher = Watcher()
    _chat(OpenAIWire(), _said("I should ", "greet\n</think>\n", "Hello"), watcher, THINKER)
    assert watcher.shown[0] == "I should"
    assert watcher.shown[-1] == "Hello"


OPENED = replace(THINKER, opened_block=True)


@pytest.mark.parametrize("thought", ["I should greet", "挨拶しよう"])
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("{0}", " or not\n", "</think>\n", "\nHello", " there"), "Hello there"),
        (("<think>", "{0}\n", "</think>\n", "こんにち", "は"), "こんにちは"),
        (("{0}\n</thi", "nk>\n\n", "はい"), "はい"),
    ],
)
def test_a_thought_that_the_template_opened_is_never_shown(
    thought: str, words: tuple[str, ...], said: str
) -> None:
    watcher = Watcher()
    told = tuple(word.format(thought) for word in words)
    answer = _chat(OpenAIWire(), _said(*told), watcher, OPENED)
    assert answer.text == said
    assert answer.thought is not None
    assert thought in answer.thought.judgment
    assert watcher.shown[-1] == said
    assert all(said.startswith(text) for text in watcher.shown)


def test_a_server_that_takes_the_thought_out_has_its_answer_shown_as_it_arrives() -> None:
    watcher = Watcher()
    apart = _openai({"reasoning_content": "I greet"}, {"content": "Hel"}, {"content": "lo"})
    _chat(OpenAIWire(), apart + b"data: [DONE]\n\n", watcher, OPENED)
    assert "Hel" in watcher.shown
    assert watcher.shown[-1] == "Hello"


def test_a_thought_of_which_nothing_came_after_is_no_answer() -> None:
    cut = _openai({"content": "I should"}) + _sse(
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]}
    )
    watcher = Watcher()
    answer = _chat(OpenAIWire(), cut, watcher, OPENED)
    assert (answer.text, answer.thought and answer.thought.judgment) == ("", "I should")
    assert not any(watcher.shown)


def test_an_answer_without_any_thought_is_one_all_the_same() -> None:
    watcher = Watcher()
    assert _chat(OpenAIWire(), _said("Hel", "lo"), watcher, OPENED).text == "Hello"


@given(
    st.text(alphabet="a<蟹🦀 \n" + KEY, max_size=60),
    st.lists(st.integers(0, 140), max_size=6),
)
def test_no_part_shows_the_key_or_half_a_character(text: str, cuts: list[int]) -> None:
    told = f"{text}{KEY}{text}"
    at = sorted({0, len(told), *(cut % (len(told) + 1) for cut in cuts)})
    watcher = Watcher()
    answer = _chat(OpenAIWire(), _said(*(told[a:b] for a, b in pairwise(at))), watcher)
    assert not any(KEY in shown for shown in watcher.shown)
    assert KEY[:8] in text or not any(KEY[:8] in shown for shown in watcher.shown)
    assert not any("\ud800" <= char <= "\udfff" for shown in watcher.shown for char in shown)
    assert watcher.shown[-1] == answer.text


def test_an_emoji_in_two_halves_is_shown_when_it_is_whole() -> None:
    watcher = Watcher()
    answer = _chat(OpenAIWire(), _said("crab \ud83e", "\udd80!"), watcher)
    assert watcher.shown[:2] == ["crab", "crab 🦀!"]
    assert answer.text == "crab 🦀!"
