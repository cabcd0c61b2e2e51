"""Content that comes as a list of parts, as Mistral sends it, is the same whole and streamed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.providers.openai.endpoint import OpenAIWire
from opencrab.domain.turn.record import ModelAnswer
from opencrab.ports.models.model import CallReturn, ChatMessage, ModelInfo
from tests.unit.adapters.providers.openai_cases import asking
from tests.unit.adapters.providers.recorded import PARTY, exchanges, read_stream
from tests.unit.adapters.providers.stub import calling, completion

WIRE = OpenAIWire()


def _thinking(text: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}], "closed": True}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _deltas(content: Any) -> Iterator[Any]:
    """The content as Mistral streams it: a part begins in a list, and goes on as plain text."""
    if not isinstance(content, list):
        yield from content or ""
        return
    for part in content:
        if part["type"] == "thinking":
            for inner in part["thinking"]:
                yield from ([_thinking(char)] for char in inner.get("text", ""))
        elif part["type"] == "text":
            first, rest = part["text"][:1], part["text"][1:]
            yield [_text(first)]
            yield from rest


def _streamed(body: Any) -> ModelAnswer:
    choice = body["choices"][0]
    deltas: list[Any] = [{"content": piece} for piece in _deltas(choice["message"].get("content"))]
    calls = choice["message"].get("tool_calls") or []
    deltas.append({"tool_calls": [{**call, "index": n} for n, call in enumerate(calls)]})
    chunks = [{"model": body["model"], "choices": [{"index": 0, "delta": one}]} for one in deltas]
    ended = {"index": 0, "delta": {"content": ""}, "finish_reason": choice["finish_reason"]}
    chunks.append({"model": body["model"], "choices": [ended], "usage": body["usage"]})
    frames = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    return read_stream(WIRE, [frames.encode()])


@pytest.mark.parametrize(
    ("content", "text", "thought"),
    [
        ([_thinking("12 * 12 = 144。"), _text("144")], "144", "12 * 12 = 144。"),
        ([_text("こんにちは"), _text("、蟹です。")], "こんにちは、蟹です。", ""),
        ([_thinking("考え"), _thinking("中"), _text("はい")], "はい", "考え中"),
        ("144", "144", ""),
    ],
)
def test_no_character_is_lost(content: Any, text: str, thought: str) -> None:
    body = completion({"content": content})
    for answer in (WIRE.from_wire(body, PARTY), _streamed(body)):
        assert answer.text == text
        assert (answer.thought.judgment if answer.thought else "") == thought


def test_every_recorded_answer_of_mistral_is_the_same_when_it_is_streamed(wire: Path) -> None:
    thinking = 0
    for exchange in exchanges(wire, "mistral"):
        body = exchange.answered
        whole = WIRE.from_wire(body, PARTY)
        streamed = _streamed(body)
        assert streamed.replaced(replay=None) == whole.replaced(replay=None), exchange.name
        content = body["choices"][0]["message"].get("content")
        if isinstance(content, list):
            thinking += 1
            texts = [part["text"] for part in content if part["type"] == "text"]
            assert whole.text == "".join(texts).strip(), exchange.name
            assert whole.thought is not None
            assert whole.thought.judgment, exchange.name
    assert thinking


def test_thinking_before_calls_goes_back_as_the_parts_that_it_came_in() -> None:
    content = [_thinking("読むべき"), _text("読みます")]
    body = completion(calling("ws_read", "{}") | {"content": content})
    answer = WIRE.from_wire(body, PARTY)
    turns = (
        ChatMessage("user", "読んで"),
        ChatMessage("assistant", "", calls=answer.calls, replay=answer.replay),
        CallReturn("c0", "ws_read", "日記"),
    )
    info = ModelInfo(name="mistral:crab-1")
    sent = WIRE.to_wire(asking(*turns, model=PARTY.model), info, stream=True)
    assert sent["messages"][2]["content"] == content
    other = WIRE.to_wire(asking(*turns, model="another"), info, stream=True)
    assert other["messages"][2]["content"] is None
