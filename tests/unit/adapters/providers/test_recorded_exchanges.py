"""Recorded exchanges with real servers: each answer is read, each refusal is understood.

A vendor joins with one line in VENDORS; what is odd about single recordings stands below it.
"""

import json
import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.providers.bedrock.endpoint import BedrockWire
from opencrab.adapters.providers.llamacpp.endpoint import LlamaCppWire
from opencrab.adapters.providers.openai.endpoint import AzureWire, OpenAIWire
from opencrab.adapters.providers.openrouter.endpoint import OpenRouterWire
from opencrab.adapters.providers.responses.endpoint import ResponsesWire
from opencrab.adapters.providers.transport.exchange import Reply
from opencrab.adapters.providers.wire.framing import wire_stream_frames
from opencrab.adapters.providers.wire.wire import Wire
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.turn.record import ModelAnswer
from tests.unit.adapters.providers.recorded import PARTY, Exchange, exchanges, read, read_stream


@dataclass(frozen=True)
class Vendor:
    """A folder of recordings, its endpoints for chats, and the wire that reads them."""

    folder: str
    wire: Wire
    endpoints: tuple[str, ...] = ("chat",)


VENDORS = (
    Vendor("openai", OpenAIWire()),
    Vendor("azure", AzureWire()),
    Vendor("deepseek", OpenAIWire()),
    Vendor("ollama", OpenAIWire(), ("v1chat",)),
    Vendor("openrouter", OpenRouterWire()),
    Vendor("responses", ResponsesWire(), ("responses",)),
    Vendor("llamacpp", LlamaCppWire()),
    Vendor("mistral", OpenAIWire()),
    # The rest of its recordings is InvokeModel, whose formats are those of each model.
    Vendor("bedrock", BedrockWire(), ("converse", "stream")),
)
FAULTS = {
    400: Fault.BAD_REQUEST,
    401: Fault.AUTH,
    403: Fault.AUTH,
    404: Fault.MODEL_GONE,
    429: Fault.RATE_LIMITED,
    500: Fault.SERVER_ERROR,
    503: Fault.OVERLOADED,
    529: Fault.OVERLOADED,
}
OTHER_FAULTS = {
    "bedrock/converse-057-08059519.json": Fault.TOO_LONG,
    "bedrock/converse-086-fedc3fee.json": Fault.MODEL_GONE,
    "bedrock/stream-088-6b44a684.json": Fault.MODEL_GONE,
    "bedrock/stream-089-289530f3.json": Fault.MODEL_GONE,
    "deepseek/chat-001-4000d612.json": Fault.TOO_LONG,
    "llamacpp/err-context.json": Fault.TOO_LONG,
    "ollama/v1chat-012-941ded4a.json": Fault.TOO_LONG,
    "responses/responses-047-922f5ba5.json": Fault.MODEL_GONE,
    "responses/responses-059-774c4a99.json": Fault.TOO_LONG,
    "responses/responses-071-08f114da.json": Fault.AUTH,
    "openrouter/chat-002-cea028d9.json": Fault.TOO_LONG,
}
"""Refusals that their status alone does not tell."""

FAILED_MIDWAY = {
    "bedrock/converse-073-3e51fc5a.json": Fault.BLOCKED,
    "bedrock/converse-083-72f6183e.json": Fault.BLOCKED,
    "bedrock/converse-084-1e9ec2d7.json": Fault.BLOCKED,
    "bedrock/stream-071-8af857de.json": Fault.BLOCKED,
    "bedrock/stream-082-452ddfd1.json": Fault.BLOCKED,
    "openrouter/chat-008-e2b383a0.json": Fault.BAD_REQUEST,
}
"""Errors that came with status 200."""

SILENT = {"bedrock/converse-037-a0066ea0.json", "openrouter/chat-024-af64b4f8.json"}
# A tool of OpenAI's own that its client was to run; we offer none.
SILENT |= {"responses/responses-033-3c78ee39.json"}
"""Answers without a word or a call."""

UNCOUNTED = {
    "openai/chat-014-9afb92d0.json",
    "openai/chat-022-c18ef068.json",
    "openai/chat-030-578c82b6.json",
    "openai/chat-033-0ce39330.json",
}
"""Streams whose client did not ask for their usage."""

CUTS = 25
"""At how many places each recorded stream is cut."""


def _is_like_openai(vendor: Vendor) -> bool:
    return isinstance(vendor.wire, OpenAIWire) and vendor.folder != "responses"


folders = pytest.mark.parametrize("vendor", VENDORS, ids=[vendor.folder for vendor in VENDORS])


def _recorded(wire: Path, vendor: Vendor) -> tuple[Exchange, ...]:
    return exchanges(wire, vendor.folder, *vendor.endpoints)


def _answers(wire: Path, vendor: Vendor) -> Iterator[Exchange]:
    for exchange in _recorded(wire, vendor):
        if not exchange.is_error and exchange.name not in FAILED_MIDWAY:
            yield exchange


RECORDED = {
    "responses": (96, 15, 9),
    "bedrock": (55, 15, 8),
    "mistral": (23, 0, 0),
}
"""Exchanges that are read here, at the least: answers at once, streams, errors."""


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.folder)
def test_all_that_was_recorded_is_read_here(wire: Path, vendor: Vendor) -> None:
    found = _recorded(wire, vendor)
    counts = (
        sum(not (each.is_error or each.is_stream) for each in found),
        sum(each.is_stream for each in found),
        sum(each.is_error for each in found),
    )
    least = RECORDED.get(vendor.folder, (1, 0, 0))
    assert all(count >= few for count, few in zip(counts, least, strict=True)), counts
    others = {each.endpoint for each in exchanges(wire, vendor.folder)} - set(vendor.endpoints)
    if vendor.folder in RECORDED:
        assert others <= {"invoke"}, others


@folders
def test_every_recorded_answer_carries_words_or_calls(wire: Path, vendor: Vendor) -> None:
    for exchange in _answers(wire, vendor):
        answer = read(vendor.wire, exchange)
        said = bool(answer.text or answer.calls)
        assert said == (exchange.name not in SILENT), exchange.name
        assert answer.model, exchange.name


@pytest.mark.parametrize(
    "vendor", [each for each in VENDORS if _is_like_openai(each)], ids=lambda vendor: vendor.folder
)
def test_no_recorded_word_is_lost(wire: Path, vendor: Vendor) -> None:
    for exchange in _answers(wire, vendor):
        answer = read(vendor.wire, exchange)
        words = answer.thought.intent if answer.calls and answer.thought else answer.text
        if exchange.is_stream:
            frames = wire_stream_frames([exchange.body], "sse")
            said = [json.loads(frame.data) for frame in frames if frame.data.startswith("{")]
            messages = [_first(chunk).get("delta") or {} for chunk in said]
        else:
            messages = [_first(json.loads(exchange.body.decode("utf-8-sig")))["message"]]
        texts = [text for message in messages for text in _texts(message)]
        assert words == "".join(texts).strip(), exchange.name


def test_no_word_or_call_recorded_at_the_responses_api_is_lost(wire: Path) -> None:
    vendor = next(each for each in VENDORS if each.folder == "responses")
    for exchange in _answers(wire, vendor):
        answer = read(vendor.wire, exchange)
        if exchange.is_stream:
            events = _json_frames(vendor, exchange)
            done = [each["item"] for each in events if each["type"] == "response.output_item.done"]
            words = [each["delta"] for each in events if each["type"] in SAID]
        else:
            done = json.loads(exchange.body)["output"]
            parts = [part for item in done for part in item.get("content") or ()]
            words = [part.get("text") or part.get("refusal") or "" for part in parts]
            words = [word for word, part in zip(words, parts, strict=True) if _is_said(part)]
        _assert_same(exchange, answer, "".join(words), _functions(done))


SERVERS = "server_tool_use"
"""A tool that Bedrock ran itself."""

SAID = {"response.output_text.delta", "response.refusal.delta"}


def _is_said(part: Any) -> bool:
    return part["type"] in {"output_text", "refusal"}


def _functions(items: Any) -> list[tuple[str, Any]]:
    called = [each for each in items if each["type"] in {"function_call", "custom_tool_call"}]
    return [(each["name"], _arguments(each)) for each in called]


def _arguments(call: Any) -> Any:
    """The arguments of a call; those of a tool that takes plain text cannot be read."""
    return json.loads(call["arguments"] or "{}") if call["type"] == "function_call" else None


def test_no_word_or_call_recorded_at_bedrock_is_lost(wire: Path) -> None:
    vendor = next(each for each in VENDORS if each.folder == "bedrock")
    for exchange in _answers(wire, vendor):
        answer = read(vendor.wire, exchange)
        if exchange.is_stream:
            events = _json_frames(vendor, exchange)
            deltas = [each.get("delta") or {} for each in events]
            words = [each.get("text", "") for each in deltas]
            named = [each for each in events if "toolUse" in (each.get("start") or {})]
            named = [each for each in named if each["start"]["toolUse"].get("type") != SERVERS]
            inputs = {
                each["contentBlockIndex"]: "".join(
                    other["delta"]["toolUse"]["input"]
                    for other in events
                    if other.get("contentBlockIndex") == each["contentBlockIndex"]
                    and "toolUse" in (other.get("delta") or {})
                )
                for each in named
            }
            calls = [
                (
                    each["start"]["toolUse"]["name"],
                    json.loads(inputs[each["contentBlockIndex"]] or "{}"),
                )
                for each in named
            ]
        else:
            blocks = json.loads(exchange.body)["output"]["message"]["content"]
            words = [each.get("text", "") for each in blocks]
            used = [each["toolUse"] for each in blocks if "toolUse" in each]
            used = [each for each in used if each.get("type") != SERVERS]
            calls = [(each["name"], each["input"]) for each in used]
        _assert_same(exchange, answer, "".join(words), calls)


def _json_frames(vendor: Vendor, exchange: Exchange) -> list[Any]:
    frames = wire_stream_frames([exchange.body], vendor.wire.framing)
    return [json.loads(frame.data) for frame in frames if frame.data.startswith("{")]


def _assert_same(
    exchange: Exchange, answer: ModelAnswer, words: str, calls: list[tuple[str, Any]]
) -> None:
    said = answer.thought.intent if answer.calls and answer.thought else answer.text
    assert "".join(said.split()) == "".join(words.split()), exchange.name
    assert [(each.name, each.arguments) for each in answer.calls] == calls, exchange.name


def _first(body: Any) -> Any:
    choices = [each for each in body.get("choices") or () if each.get("index", 0) == 0]
    return choices[0] if choices else {}


def _texts(message: Any) -> list[str]:
    content = message.get("content") or message.get("refusal") or ""
    return [part.get("text", "") for part in content] if isinstance(content, list) else [content]


@folders
def test_every_recorded_answer_is_counted(wire: Path, vendor: Vendor) -> None:
    for exchange in _answers(wire, vendor):
        usage = read(vendor.wire, exchange).usage
        assert usage.is_counted == (exchange.name not in UNCOUNTED), exchange.name
        assert usage.cached_tokens <= usage.input_tokens, exchange.name
        assert usage.reasoning_tokens <= usage.output_tokens, exchange.name


@folders
def test_every_recorded_error_tells_what_to_do(wire: Path, vendor: Vendor) -> None:
    for exchange in _recorded(wire, vendor):
        if not exchange.is_error and exchange.name not in FAILED_MIDWAY:
            continue
        with pytest.raises(ModelCallFailed) as caught:
            read(vendor.wire, exchange)
        others = OTHER_FAULTS | FAILED_MIDWAY
        expected = others.get(exchange.name) or FAULTS[exchange.status]
        assert caught.value.fault is expected, exchange.name
        assert PARTY.provider in caught.value.message, exchange.name
        assert "\n" not in caught.value.message, exchange.name
        assert (PARTY.key_name in caught.value.message) == (expected is Fault.AUTH), exchange.name


@folders
def test_a_recorded_stream_that_is_cut_is_whole_or_no_answer(wire: Path, vendor: Vendor) -> None:
    chance = random.Random(vendor.folder)  # noqa: S311  - a seed, so that each run cuts alike
    for exchange in _answers(wire, vendor):
        if not exchange.is_stream:
            continue
        whole = read(vendor.wire, exchange)
        for _ in range(CUTS):
            cut = exchange.body[: chance.randrange(len(exchange.body))]
            with suppress(ModelCallFailed):
                answer = _as_far_as_it_came(vendor.wire, cut)
                assert answer in {None, (whole.text, repr(whole.calls))}, exchange.name


def _as_far_as_it_came(wire: Wire, stream: bytes) -> tuple[str, str] | None:
    """Words and calls of a stream; None when it has not come to its end."""
    assembly = wire.assembly(PARTY)
    for event in wire_stream_frames([stream], wire.framing):
        assembly.add(event)
    if not assembly.is_complete:
        return None
    answer = wire.from_wire(assembly.body(), PARTY)
    return answer.text, repr(answer.calls)


@folders
def test_a_recorded_stream_may_arrive_in_any_pieces(wire: Path, vendor: Vendor) -> None:
    for exchange in _answers(wire, vendor):
        if exchange.is_stream:
            pieces = (exchange.body[n : n + 7] for n in range(0, len(exchange.body), 7))
            assert read_stream(vendor.wire, pieces) == read(vendor.wire, exchange), exchange.name


@folders
def test_a_quoted_error_is_waited_for_only_where_waiting_helps(wire: Path, vendor: Vendor) -> None:
    quoted = json.loads((wire / "cassettes" / "quoted-errors.json").read_text(encoding="utf-8"))
    for case in quoted["cases"]:
        if case["provider"] != vendor.folder:
            continue
        body = case.get("body") or {
            "error": {
                "message": case.get("message", ""),
                "type": case.get("error_type"),
                "details": {"error_code": case.get("details_error_code")},
            }
        }
        reply = Reply(case["status"], json.dumps(body).encode(), case.get("headers") or {})
        fault = vendor.wire.failure(reply, PARTY).fault
        assert fault.may_pass == case["retryable"], case["id"]
