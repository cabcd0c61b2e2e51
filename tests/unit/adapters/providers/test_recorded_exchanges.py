"""Recorded exchanges with real servers: each answer is read, each refusal is understood."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from opencrab.adapters.providers.openai import Endpoint, OpenAIModel
from opencrab.adapters.providers.openai_answer import from_wire, parse
from opencrab.adapters.providers.openai_error import failure
from opencrab.domain.errors import Busy, Invalid, OpenCrabError, Refused, TooLarge
from opencrab.ports.model import ChatRequest, ModelInfo, Said
from tests.unit.adapters.providers.fake import Replying
from tests.unit.adapters.providers.recorded import Exchange, exchanges

NOT_JSON = "openai/chat-024-f7edec0f.json"
"""A recording in which the arguments of a custom call are plain text."""

TOO_LONG = {
    "deepseek/chat-001-4000d612.json",
    "llamacpp/err-context.json",
    "ollama/v1chat-012-941ded4a.json",
}
REFUSALS: dict[int, type[OpenCrabError]] = {400: Invalid, 401: Refused, 404: Invalid, 429: Busy}
REQUEST = ChatRequest(
    model="",
    actions=(),
    system="",
    turns=(Said("user", "こんにちは"),),
    max_output_tokens=10,
)


@pytest.fixture(scope="module")
def recorded(wire: Path) -> tuple[Exchange, ...]:
    return exchanges(wire)


def _answers(recorded: tuple[Exchange, ...]) -> Iterator[Exchange]:
    return (exchange for exchange in recorded if not exchange.is_error)


def _message(exchange: Exchange) -> dict[str, Any]:
    message: dict[str, Any] = exchange.answered["choices"][0]["message"]
    return message


def test_every_recorded_answer_carries_words_or_calls(recorded: tuple[Exchange, ...]) -> None:
    for exchange in _answers(recorded):
        answer = from_wire(parse(exchange.body))
        assert answer.text or answer.calls, exchange.name
        assert answer.usage.input_tokens > 0, exchange.name
        assert answer.usage.output_tokens > 0, exchange.name
        assert answer.usage.cached_tokens <= answer.usage.input_tokens, exchange.name
        assert answer.model == exchange.answered["model"], exchange.name


def test_every_recorded_call_is_read_with_its_arguments(recorded: tuple[Exchange, ...]) -> None:
    for exchange in _answers(recorded):
        listed = _message(exchange).get("tool_calls") or []
        calls = from_wire(exchange.answered).calls
        functions = [entry["function"] for entry in listed if "function" in entry]
        assert len(calls) >= len(listed), exchange.name
        for call, function in zip(calls, functions, strict=False):
            assert call.name == function["name"], exchange.name
            assert call.arguments == json.loads(function["arguments"]), exchange.name
        readable = all(call.arguments is not None for call in calls)
        assert readable or exchange.name == NOT_JSON, exchange.name


def test_a_custom_call_keeps_its_plain_text(recorded: tuple[Exchange, ...]) -> None:
    exchange = next(each for each in recorded if each.name == NOT_JSON)
    (call,) = from_wire(exchange.answered).calls
    assert call.name == "math_exp"
    assert call.arguments is None
    assert call.raw == _message(exchange)["tool_calls"][0]["custom"]["input"]


def test_calls_of_one_answer_have_ids_of_their_own(recorded: tuple[Exchange, ...]) -> None:
    several = [each for each in _answers(recorded) if len(from_wire(each.answered).calls) > 1]
    assert several
    for exchange in several:
        calls = from_wire(exchange.answered).calls
        assert [call.id for call in calls] == [f"c{n}" for n in range(len(calls))]


def test_reasoning_is_kept_apart_from_what_is_said(recorded: tuple[Exchange, ...]) -> None:
    thinking = [each for each in _answers(recorded) if _message(each).get("reasoning_content")]
    assert thinking
    for exchange in thinking:
        answer = from_wire(exchange.answered)
        assert answer.thought is not None
        assert answer.thought.judgment == _message(exchange)["reasoning_content"].strip()
        assert answer.thought.judgment not in answer.text


def test_a_recorded_refusal_of_the_model_is_its_answer(recorded: tuple[Exchange, ...]) -> None:
    refusing = [each for each in _answers(recorded) if _message(each).get("refusal")]
    assert refusing
    for exchange in refusing:
        assert from_wire(exchange.answered).text == _message(exchange)["refusal"]


def test_every_recorded_error_tells_what_to_do(recorded: tuple[Exchange, ...]) -> None:
    refused = [each for each in recorded if each.is_error]
    assert {each.status for each in refused} == set(REFUSALS)
    for exchange in refused:
        with pytest.raises(OpenCrabError) as caught:
            _chat(exchange)
        expected = TooLarge if exchange.name in TOO_LONG else REFUSALS[exchange.status]
        assert type(caught.value) is expected, exchange.name
        assert "蟹屋" in caught.value.message, exchange.name
        assert "\n" not in caught.value.message, exchange.name


def test_every_recorded_answer_arrives_through_the_model(recorded: tuple[Exchange, ...]) -> None:
    for exchange in _answers(recorded):
        assert _chat(exchange) == from_wire(exchange.answered), exchange.name


def test_a_quoted_error_is_retried_only_where_waiting_helps(wire: Path) -> None:
    quoted = json.loads((wire / "cassettes" / "quoted-errors.json").read_text(encoding="utf-8"))
    cases = [case for case in quoted["cases"] if case["provider"] == "openai"]
    assert len(cases) >= 3
    for case in cases:
        error = case.get("body", {}).get("error") or {"message": case["message"]}
        kind = type(failure(case["status"], error))
        assert (kind is Busy) == case["retryable"], case["id"]


def test_the_recorded_requests_fit_the_schema_that_judges_ours(
    recorded: tuple[Exchange, ...], chat_schema: jsonschema.Draft202012Validator
) -> None:
    ours = [each for each in recorded if each.name.startswith("openai/") and not each.is_error]
    valid = [each for each in ours if chat_schema.is_valid(json.loads(each.request))]
    assert len(valid) > len(ours) * 3 // 4


def _chat(exchange: Exchange) -> Any:
    endpoint = Endpoint("蟹屋", "https://example.com/v1", "sk-of-the-crab", "CRAB_API_KEY")
    transport = Replying(exchange.body, exchange.status)
    model = OpenAIModel(endpoint, "crab-1", ModelInfo(name="蟹屋:crab-1"), transport)
    return model.chat(REQUEST, model.encode(REQUEST))
