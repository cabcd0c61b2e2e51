"""AWS's own library beside our wire: it sends the same request, and reads the same answers."""

import json
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from botocore.config import Config

from opencrab.adapters.providers.bedrock.endpoint import BedrockWire
from opencrab.ports.models.model import ChatRequest, ModelInfo
from tests.unit.adapters.providers.openai_cases import CASES
from tests.unit.adapters.providers.recorded import Exchange, exchanges, read
from tests.unit.adapters.providers.stub import Canned, Stub, serving

WIRE = BedrockWire()
MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
SAID = {"output": {"message": {"role": "assistant", "content": []}}, "stopReason": "end_turn"}
STREAM = "application/vnd.amazon.eventstream"


@cache
def _session() -> Any:
    return botocore.session.get_session()


@contextmanager
def _client(reply: Canned) -> Iterator[tuple[Any, Stub]]:
    with serving(lambda _: reply) as stub:
        client = _session().create_client(
            "bedrock-runtime",
            region_name="us-east-1",
            endpoint_url=stub.url,
            aws_access_key_id="AKIA",
            aws_secret_access_key="secret",
            config=Config(retries={"total_max_attempts": 1}),
        )
        yield client, stub


def _with_bytes(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: b64decode(item) if name == "bytes" else _with_bytes(item)
            for name, item in value.items()
        }
    return [_with_bytes(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("request_", CASES)
def test_the_library_sends_what_we_send(request_: ChatRequest) -> None:
    info = ModelInfo(name="bedrock:m", vision=True)
    named = ChatRequest(**{**vars(request_), "model": MODEL})
    body = json.loads(json.dumps(WIRE.to_wire(named, info, stream=False)))
    with _client(Canned(body=json.dumps(SAID).encode())) as (client, stub):
        client.converse(modelId=MODEL, **_with_bytes(body))
    (sent,) = stub.received
    assert sent.json == body
    assert sent.path == WIRE.chat_path(MODEL, stream=False)


def test_the_library_reads_the_recorded_answers_as_we_read_them(wire: Path) -> None:
    whole = exchanges(wire, "bedrock", "converse")
    streams = exchanges(wire, "bedrock", "stream")
    found = 0
    for exchange in (*whole, *streams):
        if exchange.is_error or "guardrail" in exchange.features:
            continue
        text, calls, tokens = _read_by_the_library(exchange)
        answer = read(WIRE, exchange)
        words = answer.thought.intent if answer.calls and answer.thought else answer.text
        assert words == text.strip(), exchange.name
        assert [(call.name, call.arguments) for call in answer.calls] == calls, exchange.name
        assert (answer.usage.input_tokens, answer.usage.output_tokens) == tokens, exchange.name
        found += 1
    assert found > 60


Read = tuple[str, list[tuple[str, Any]], tuple[int, int]]


def _read_by_the_library(exchange: Exchange) -> Read:
    kind = STREAM if exchange.is_stream else "application/json"
    messages = [{"role": "user", "content": [{"text": "x"}]}]
    with _client(Canned(200, exchange.body, {"content-type": kind})) as (client, _):
        if not exchange.is_stream:
            said = client.converse(modelId=MODEL, messages=messages)
            return _result(said["output"]["message"]["content"], said["usage"])
        events = list(client.converse_stream(modelId=MODEL, messages=messages)["stream"])
    blocks: dict[int, dict[str, Any]] = {}
    usage: dict[str, Any] = {}
    for event in events:
        usage = event.get("metadata", {}).get("usage", usage)
        start, delta = event.get("contentBlockStart"), event.get("contentBlockDelta")
        if start and "toolUse" in start["start"]:
            blocks[start["contentBlockIndex"]] = {"toolUse": {**start["start"]["toolUse"], "": ""}}
        if delta and "text" in delta["delta"]:
            block = blocks.setdefault(delta["contentBlockIndex"], {"text": ""})
            block["text"] = block.get("text", "") + delta["delta"]["text"]
        if delta and "toolUse" in delta["delta"]:
            blocks[delta["contentBlockIndex"]]["toolUse"][""] += delta["delta"]["toolUse"]["input"]
    for block in blocks.values():
        if "toolUse" in block:
            block["toolUse"]["input"] = json.loads(block["toolUse"][""])
    return _result([block for _, block in sorted(blocks.items())], usage)


def _result(content: list[dict[str, Any]], usage: dict[str, Any]) -> Read:
    texts = [
        part["text"]
        for block in content
        for part in (block.get("citationsContent", {}).get("content") or [block])
        if "text" in part
    ]
    calls = [block["toolUse"] for block in content if "toolUse" in block]
    own = [(each["name"], each["input"]) for each in calls if each.get("type") != "server_tool_use"]
    cached = usage.get("cacheReadInputTokens", 0) + usage.get("cacheWriteInputTokens", 0)
    return "".join(texts), own, (usage["inputTokens"] + cached, usage["outputTokens"])
