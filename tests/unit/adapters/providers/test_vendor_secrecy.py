"""The canary: the key in whatever a server sends, along every way out of a vendor's model."""

import json
import traceback
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from opencrab.adapters.providers.vendor import VendorEmbedder, VendorModel, probe_health_of_provider
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.ports.models.model import ChatMessage, ChatRequest
from tests.unit.adapters.providers.fake import Replying
from tests.unit.adapters.providers.test_vendor import ENDPOINT, INFO, JSON, KEY, Ticking
from tests.unit.adapters.providers.tiny import TinyWire, frames

REQUEST = ChatRequest("", (), "", (ChatMessage("user", "こんにちは"),), 100, timeout_seconds=7.0)


def _model(transport: Any, *, stream: bool = True) -> VendorModel:
    return VendorModel(
        TinyWire(), ENDPOINT, "crab-1", INFO, transport, stream=stream, clock=Ticking()
    )


def _chat(model: VendorModel) -> Any:
    return model.chat(REQUEST, model.encode(REQUEST))


def _failed(act: Callable[[], Any]) -> ModelCallFailed:
    with pytest.raises(ModelCallFailed) as caught:
        act()
    return caught.value


def _everything(error: BaseException) -> str:
    """All that anybody could print of an error."""
    told = [repr(error), str(error), str(vars(error)), *traceback.format_exception(error)]
    return "\n".join(told)


def _quoting() -> list[Replying]:
    quoted = f"the key {KEY} is no good".encode()
    half = f"the key {KEY[:-3]}".encode()
    lost = ModelCallFailed(f"weg: {KEY}", Fault.BROKEN_OFF)
    return [
        *(Replying(quoted, status) for status in (400, 401, 429, 503, 302)),
        *(Replying(body, headers=JSON) for body in (quoted, json.dumps({"no": KEY}).encode())),
        Replying(half, 401, trouble=lost),
        Replying(b"x" * (256 * 1024 - 12) + KEY.encode(), 401),
        Replying(frames({"w": "は"}, {"error": KEY})),
        Replying(f"data: {KEY}\n\n".encode()),
        Replying(frames({"error": KEY}).replace(b"-", b"\\u002d")),
        Replying(b"data: 1\n\n", trouble=lost),
    ]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("number", range(len(_quoting())))
def test_no_error_tells_the_key(number: int, stream: bool) -> None:  # noqa: FBT001
    error = _failed(lambda: _chat(_model(_quoting()[number], stream=stream)))
    assert KEY not in _everything(error)
    assert KEY[:-3] not in _everything(error)


def test_no_answer_tells_the_key() -> None:
    for stream in (True, False):
        body = frames({"w": KEY}, {"end": 1}) if stream else json.dumps({"text": KEY}).encode()
        assert _chat(_model(Replying(body), stream=stream)).text == "***"


@pytest.mark.parametrize("places", [(3,), (1, 9), (16,)])
def test_no_answer_tells_a_key_that_came_in_pieces(places: tuple[int, ...]) -> None:
    edges = [0, *places, len(KEY)]
    pieces = [KEY[start:end] for start, end in pairwise(edges)]
    stream = frames(*({"w": piece} for piece in ("鍵は", *pieces, "です")), {"end": 1})
    assert _chat(_model(Replying(stream))).text == "鍵は***です"


@pytest.mark.parametrize("stream", [True, False])
def test_no_answer_tells_a_key_that_json_hid(stream: bool) -> None:  # noqa: FBT001
    body = frames({"w": KEY}, {"end": 1}) if stream else json.dumps({"text": KEY}).encode()
    hidden = body.replace(b"sk-", b"\\u0073k\\u002d")
    assert KEY.encode() not in hidden
    assert _chat(_model(Replying(hidden), stream=stream)).text == "***"


def _with_key(key: str, transport: Any, *, stream: bool = True) -> VendorModel:
    endpoint = replace(ENDPOINT, provider="ollama", api_key=key)
    return VendorModel(TinyWire(), endpoint, "crab-1", INFO, transport, stream=stream)


@pytest.mark.parametrize("stream", [True, False])
def test_a_key_that_is_a_word_may_be_said(stream: bool) -> None:  # noqa: FBT001
    said = "ollama runs models"
    body = frames({"w": said}, {"end": 1}) if stream else json.dumps({"text": said}).encode()
    assert _chat(_with_key("ollama", Replying(body), stream=stream)).text == said


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("status", [200, 401])
def test_only_what_the_server_said_of_an_error_is_without_a_key_that_is_a_word(
    stream: bool,  # noqa: FBT001
    status: int,
) -> None:
    reply = Replying(frames({"error": "ollama: no"}) if stream else b'{"no": "ollama"}', status)
    error = _failed(lambda: _chat(_with_key("ollama", reply, stream=stream)))
    ours, _, theirs = error.message.partition(":")
    assert "ollama" in ours
    assert "***" in theirs
    assert "ollama" not in theirs


def test_nothing_that_can_be_printed_holds_the_key() -> None:
    model = _model(Replying())
    assert KEY not in f"{ENDPOINT!r} {model!r} {vars(model)!r}"


def test_no_embeddings_and_no_health_tell_the_key() -> None:
    for reply in _quoting():
        embedder = VendorEmbedder(TinyWire(), ENDPOINT, "e", INFO, reply)
        error = _failed(lambda embedder=embedder: embedder.embed(("a",), timeout_seconds=9))  # type: ignore[misc]
        assert KEY not in _everything(error)
        assert KEY not in str(probe_health_of_provider(TinyWire(), ENDPOINT, reply, 5.0, Ticking()))
