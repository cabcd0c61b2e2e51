"""llama.cpp's server: its own words for what went wrong."""

import json
from dataclasses import replace
from typing import Any

import pytest

from opencrab.adapters.providers.llamacpp.endpoint import LlamaCppWire
from opencrab.adapters.providers.openai.endpoint import OpenAIWire
from opencrab.adapters.providers.transport.exchange import Reply
from opencrab.adapters.providers.wire.wire import Endpoint, StreamFrame
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.ports.models.model import ActionSchema, ChatMessage, ChatRequest, ModelInfo
from tests.unit.adapters.providers.recorded import PARTY

WIRE = LlamaCppWire()


@pytest.mark.parametrize(
    ("status", "error", "fault"),
    [
        (400, {"type": "exceed_context_size_error", "message": "n_ctx"}, Fault.TOO_LONG),
        (400, {"type": "invalid_request_error", "message": "?"}, Fault.BAD_REQUEST),
        (401, {"type": "authentication_error", "message": "Invalid API Key"}, Fault.AUTH),
        (501, {"type": "not_supported_error", "message": "start with --embeddings"},
         Fault.BAD_REQUEST),
        (503, {"type": "unavailable_error", "message": "Loading model"}, Fault.OVERLOADED),
        (500, {"type": "server_error", "message": "?"}, Fault.SERVER_ERROR),
    ],
)  # fmt: skip
def test_its_errors_tell_what_to_do(status: int, error: dict[str, str], fault: Fault) -> None:
    failed = WIRE.failure(Reply(status, json.dumps({"error": error}).encode()), PARTY)
    assert failed.fault is fault
    assert PARTY.provider in failed.message
    assert failed.may_be_billed == (status == 500)


def test_its_errors_in_mid_stream_are_judged_alike() -> None:
    error = {"code": 400, "type": "exceed_context_size_error", "message": "文脈が長すぎます"}
    with pytest.raises(ModelCallFailed, match="文脈が長すぎます") as caught:
        WIRE.assembly(PARTY).add(StreamFrame(json.dumps({"error": error})))
    assert caught.value.fault is Fault.TOO_LONG


def test_its_connections_are_not_kept() -> None:
    headers = WIRE.headers(Endpoint("llama", "http://crab/v1", "鍵"))
    assert headers == {"connection": "close", "authorization": "Bearer 鍵"}


SCHEMA = {"type": "object", "properties": {"名前": {"type": "string"}}}
RING = ActionSchema(name="ring", description="Ring. 鳴らす。", parameters={"type": "object"})


def _body(wire: OpenAIWire, **changes: Any) -> dict[str, Any]:
    turns = (ChatMessage("user", "名前は? Your name?"),)
    request = ChatRequest("crab", (), "", turns, 100, answer_schema=SCHEMA)
    return wire.to_wire(replace(request, **changes), ModelInfo("llamacpp:crab"), stream=True)


def test_the_schema_of_an_answer_is_sent() -> None:
    assert _body(WIRE)["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": SCHEMA},
    }


def test_without_a_schema_or_with_tools_no_form_is_demanded() -> None:
    assert "response_format" not in _body(WIRE, answer_schema=None)
    assert "response_format" not in _body(WIRE, actions=(RING,))


def test_other_servers_of_the_format_are_not_sent_it() -> None:
    assert "response_format" not in _body(OpenAIWire())
