"""Requests of a growing conversation begin with the same bytes, so that prompt caches hold them."""

import json
from dataclasses import replace
from typing import Any

import pytest

from opencrab.adapters.providers.vendor import VendorModel
from opencrab.adapters.providers.wire.wire import Endpoint
from opencrab.domain.turn.record import ActionCall
from opencrab.ports.models.model import (
    ActionSchema,
    CallReturn,
    ChatMessage,
    ChatRequest,
    ModelInfo,
)
from tests.contract.speaking import VENDORS
from tests.unit.adapters.providers.fake import Replying

MARKS = ("cache_control", "cachePoint")
LISTS = ("messages", "contents", "input")
"""Where vendors have the conversation; what stands beside it is the same in each request."""

WRITE = ActionSchema(
    name="ws_write",
    description="ファイルを書く。",
    parameters={"type": "object", "properties": {"path": {"type": "string"}}},
)
CALL = ActionCall(id="c1_0", name="ws_write", arguments={"path": "蟹.md"})
SAID = (
    ChatMessage("user", "太郎 (owner): こんにちは", name="owner"),
    ChatMessage("assistant", "どうも"),
    ChatMessage("user", "太郎 (owner): 書いて", name="owner"),
    ChatMessage("assistant", "書きます", calls=(CALL,)),
    CallReturn(CALL.id, CALL.name, '{"ok": 1}'),
    ChatMessage("assistant", "書きました"),
)
MOMENTS = (ChatMessage("user", "今は9時です"), ChatMessage("user", "今は10時です"))


def _unmarked(value: Any) -> Any:
    """Without cache marks, which move on with the conversation and are no part of the prompt."""
    if isinstance(value, dict):
        return {name: _unmarked(item) for name, item in value.items() if name not in MARKS}
    if isinstance(value, list):
        kept = [
            item for item in value if not (isinstance(item, dict) and item.keys() & {*MARKS[1:]})
        ]
        return [_unmarked(item) for item in kept]
    return value


def _sent(name: str, turns: tuple[ChatMessage | CallReturn, ...]) -> tuple[str, list[str]]:
    """What stands beside the conversation, and its messages, each as the bytes that are sent."""
    info = replace(ModelInfo(name="蟹屋:crab-1"), temperature=False)
    model = VendorModel(
        VENDORS[name].wire(),
        Endpoint("蟹屋", "http://crab"),
        "amazon.nova-crab-1",
        info,
        Replying(),
    )
    body = json.loads(model.encode(ChatRequest("", (WRITE,), "あなたは蟹です。", turns, 200)))
    unmarked = _unmarked(body)
    place = next(each for each in LISTS if each in unmarked)
    messages = [json.dumps(message, ensure_ascii=False) for message in unmarked.pop(place)]
    return json.dumps(unmarked, ensure_ascii=False), messages


@pytest.mark.parametrize("name", VENDORS)
@pytest.mark.parametrize("length", range(1, len(SAID), 2))
def test_what_was_sent_before_is_sent_again_byte_for_byte(name: str, length: int) -> None:
    beside, earlier = _sent(name, (*SAID[:length], MOMENTS[0]))
    beside_later, later = _sent(name, (*SAID, MOMENTS[1]))
    assert beside == beside_later
    # The last message holds the moment, which no cache is asked for.
    assert later[: len(earlier) - 1] == earlier[:-1]
    assert len(earlier) > 1 or length == 1


@pytest.mark.parametrize("name", VENDORS)
def test_the_same_request_has_the_same_bytes(name: str) -> None:
    assert _sent(name, SAID) == _sent(name, SAID)
