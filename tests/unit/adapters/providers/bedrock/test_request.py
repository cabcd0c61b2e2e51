"""Requests to Converse: valid by AWS's own description of the service, cached where it can be."""

import json
from base64 import b64decode
from functools import cache
from typing import Any

import botocore.loaders
import pytest
from botocore.model import ServiceModel
from botocore.validate import ParamValidator

from opencrab.adapters.providers.bedrock.endpoint import BedrockWire
from opencrab.ports.models.model import CallReturn, ChatMessage, ChatRequest, ModelInfo
from tests.unit.adapters.providers.openai_cases import CALL, CASES, PNG, asking

WIRE = BedrockWire()
CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
NOVA = "eu.amazon.nova-2-lite-v1:0"
LLAMA = "meta.llama3-3-70b-instruct-v1:0"
POINT = {"cachePoint": {"type": "default"}}
INFO = ModelInfo(name="bedrock:m", vision=True)


@cache
def _service() -> Any:
    loader = botocore.loaders.create_loader()
    return ServiceModel(loader.load_service_model("bedrock-runtime", "service-2"))


def _sent(request: ChatRequest, model: str = CLAUDE, **info: Any) -> Any:
    named = ChatRequest(**{**vars(request), "model": model})
    changed = ModelInfo(**{"name": "bedrock:m", "vision": True, **info})
    return json.loads(json.dumps(WIRE.to_wire(named, changed, stream=True)))


def _with_bytes(value: Any) -> Any:
    """The body as botocore takes it: what is base64 on the wire is bytes there."""
    if isinstance(value, dict):
        decoded = {"bytes", "redactedContent"}
        return {
            name: b64decode(item) if name in decoded else _with_bytes(item)
            for name, item in value.items()
        }
    return [_with_bytes(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("model", [CLAUDE, NOVA, LLAMA])
@pytest.mark.parametrize("request_", CASES)
def test_every_request_is_valid(request_: ChatRequest, model: str) -> None:
    shape = _service().operation_model("ConverseStream").input_shape
    body = _with_bytes(_sent(request_, model))
    report = ParamValidator().validate({"modelId": model, **body}, shape)
    assert not report.has_errors(), report.generate_report()


def test_a_conversation_becomes_blocks() -> None:
    body = _sent(
        asking(
            ChatMessage("user", "見て", images=(PNG,)),
            ChatMessage("assistant", "書きます", calls=(CALL,)),
            CallReturn(CALL.id, CALL.name, '{"ok":true}'),
            stop=("終", "わ", "り", "。", "!"),
            temperature=0.4,
        ),
        LLAMA,
    )
    assert body["system"] == [{"text": "あなたは蟹です。You are a crab."}]
    first, second, third = body["messages"]
    image = {"image": {"format": "png", "source": {"bytes": PNG.data}}}
    assert first == {"role": "user", "content": [image, {"text": "見て"}]}
    called = second["content"][1]["toolUse"]
    assert (called["name"], called["input"]) == (CALL.name, CALL.arguments)
    assert third["content"] == [
        {"toolResult": {"toolUseId": called["toolUseId"], "content": [{"text": '{"ok":true}'}]}}
    ]
    limits = {"maxTokens": 200, "temperature": 0.4, "stopSequences": ["終", "わ", "り", "。"]}
    assert body["inferenceConfig"] == limits
    spec = body["toolConfig"]["tools"][0]["toolSpec"]
    assert spec["name"] == "ws_write"
    assert spec["inputSchema"]["json"]["required"] == ["path"]


TURNS = (
    ChatMessage("user", "こんにちは"),
    ChatMessage("assistant", "はい"),
    ChatMessage("user", "今何時？"),
)


@pytest.mark.parametrize(
    ("model", "tools", "system", "history"),
    [(CLAUDE, True, True, True), (NOVA, False, True, True), (LLAMA, False, False, False)],
)
@pytest.mark.parametrize("older", [False, True])
def test_only_what_a_model_caches_is_marked(
    model: str,
    tools: bool,  # noqa: FBT001
    system: bool,  # noqa: FBT001
    history: bool,  # noqa: FBT001
    older: bool,  # noqa: FBT001
) -> None:
    if older and model == CLAUDE:
        model, tools, system, history = "anthropic.claude-3-haiku-20240307-v1:0", *[False] * 3
    body = _sent(asking(*TURNS), model)
    assert (POINT in body["toolConfig"]["tools"]) is tools
    assert (body["system"][-1] == POINT) is system
    assert (body["messages"][-2]["content"][-1] == POINT) is history
    assert POINT not in body["messages"][-1]["content"]


@pytest.mark.parametrize(("model", "forced"), [(CLAUDE, True), (NOVA, True), (LLAMA, False)])
def test_a_call_is_demanded_of_models_that_can_be_made_to(
    model: str,
    forced: bool,  # noqa: FBT001
) -> None:
    config = _sent(asking(require_action=True), model)["toolConfig"]
    assert ("toolChoice" in config) is forced


def test_a_model_without_functions_is_told_of_calls_in_words() -> None:
    turns = (ChatMessage("assistant", "", calls=(CALL,)), CallReturn(CALL.id, CALL.name, "済"))
    body = _sent(asking(ChatMessage("user", "書いて"), *turns), LLAMA, functions=False)
    assert "toolConfig" not in body
    assert "toolUse" not in json.dumps(body)
    assert "ws_write" in json.dumps(body)
