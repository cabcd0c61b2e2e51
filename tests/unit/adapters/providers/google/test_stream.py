"""Streams of Gemini: whole, cut anywhere, with errors in the middle, or not as asked for."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.providers.catalogue.connection import BASE_URLS
from opencrab.adapters.providers.google.endpoint import GoogleWire
from opencrab.adapters.providers.google.stream import GoogleAssembly
from opencrab.adapters.providers.vendor import VendorModel
from opencrab.adapters.providers.wire.framing import wire_stream_frames
from opencrab.adapters.providers.wire.lenient import parse_provider_json
from opencrab.adapters.providers.wire.wire import Endpoint, StreamFrame
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.money.budget import Usage
from opencrab.domain.turn.record import ModelAnswer
from opencrab.ports.models.model import ChatMessage, ChatRequest, ModelInfo
from tests.unit.adapters.providers.fake import Replying
from tests.unit.adapters.providers.google.test_answer import BODIES, FOLDER
from tests.unit.adapters.providers.recorded import PARTY, read_stream

WIRE = GoogleWire()
CALLING = {"functionCall": {"name": "ws_list"}}
WRITING = {
    "functionCall": {
        "id": "v1",
        "name": "ws_write",
        "args": {"道": "日記.md", "文": "蟹と\n散歩"},
    }
}


def _frames(*chunks: Any) -> bytes:
    lines = [json.dumps(chunk, ensure_ascii=False) for chunk in chunks]
    return "".join(f"data: {line}\r\n\r\n" for line in lines).encode()


def _chunk(*parts: Any, **changes: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": list(parts), "role": "model"}, **changes}]}


JAPANESE = _frames(
    {**_chunk({"text": "考える🦀", "thought": True}), "usageMetadata": {"promptTokenCount": 11}},
    _chunk({"text": "今日は"}),
    _chunk({"text": "晴れ☀️です"}, WRITING),
    {
        **_chunk({"text": "", "thoughtSignature": "c2ln"}, finishReason="STOP"),
        "usageMetadata": {"promptTokenCount": 12, "candidatesTokenCount": 8},
        "modelVersion": "gemini-2.5-flash",
    },
)


def _read_or_cut(chunks: Iterable[bytes]) -> ModelAnswer | None:
    """The answer of a stream; None where it was cut."""
    assembly = GoogleAssembly(PARTY)
    for event in wire_stream_frames(chunks, "sse"):
        assembly.add(event)
    return WIRE.from_wire(assembly.body(), PARTY) if assembly.is_complete else None


def test_a_stream_amounts_to_the_same_as_the_answer_in_one_piece() -> None:
    answer = read_stream(WIRE, [JAPANESE])
    assert answer.thought is not None
    assert (answer.thought.judgment, answer.thought.intent) == ("考える🦀", "今日は晴れ☀️です")
    assert answer.calls[0].arguments == {"道": "日記.md", "文": "蟹と\n散歩"}
    assert answer.usage == Usage(input_tokens=12, output_tokens=8)
    assert answer.model == "gemini-2.5-flash"


def test_a_stream_cut_at_any_byte_is_whole_or_cut_and_never_half() -> None:
    whole = _read_or_cut([JAPANESE])
    for cut in range(len(JAPANESE)):
        assert _read_or_cut([JAPANESE[:cut]]) in (None, whole)
        assert _read_or_cut([JAPANESE[:cut], JAPANESE[cut:]]) == whole


def test_a_model_whose_stream_is_cut_says_that_it_broke_off() -> None:
    endpoint = Endpoint("google", BASE_URLS["google"], "geheimnis")
    info = ModelInfo("google:gemini-2.5-flash")
    faults = set[Fault]()
    whole = _read_or_cut([JAPANESE])
    request = ChatRequest("gemini-2.5-flash", (), "", (ChatMessage("user", "蟹"),), 100)
    for cut in range(0, len(JAPANESE) + 1, 7):
        server = Replying(chunks=[JAPANESE[:cut]], headers={"content-type": "text/event-stream"})
        model = VendorModel(WIRE, endpoint, "gemini-2.5-flash", info, server)
        try:
            answer = model.chat(request, model.encode(request))
        except ModelCallFailed as error:
            faults.add(error.fault)
        else:
            assert whole is not None
            assert (answer.thought, answer.calls) == (whole.thought, whole.calls)
    assert faults == {Fault.BROKEN_OFF}


@pytest.mark.parametrize(
    ("part", "began"),
    [({"text": ""}, False), ({"text": "考", "thought": True}, True), (CALLING, True)],
)
def test_a_stream_has_begun_with_its_first_word_thought_or_call(
    part: dict[str, Any], *, began: bool
) -> None:
    assembly = GoogleAssembly(PARTY)
    assembly.add(StreamFrame(json.dumps(_chunk(part))))
    assert assembly.has_content is began
    assert not assembly.is_complete


def test_a_blocked_prompt_ends_a_stream() -> None:
    with pytest.raises(ModelCallFailed) as caught:
        read_stream(WIRE, [_frames({"promptFeedback": {"blockReason": "SAFETY"}})])
    assert caught.value.fault is Fault.BLOCKED


ERROR = {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}


@pytest.mark.parametrize(
    "error", [json.dumps(ERROR, indent=2).encode(), _frames(ERROR), _frames([ERROR])]
)
@pytest.mark.parametrize("began", [True, False])
def test_an_error_in_the_middle_was_billed_if_anything_had_begun(
    error: bytes, *, began: bool
) -> None:
    chunk = {**_chunk({"text": "はじめ"}), "usageMetadata": {"promptTokenCount": 5}}
    before = _frames(chunk) if began else b""
    with pytest.raises(ModelCallFailed) as caught:
        read_stream(WIRE, [before, error])
    assert caught.value.fault is Fault.OVERLOADED
    assert caught.value.may_be_billed is began
    # What was counted so far is less than what is billed: the whole reservation is charged.
    assert caught.value.usage is None


def test_an_error_after_the_prompt_was_counted_is_billed_without_a_count_that_is_not_final() -> (
    None
):
    with pytest.raises(ModelCallFailed) as caught:
        read_stream(WIRE, [_frames({"usageMetadata": {"promptTokenCount": 100_000}}, ERROR)])
    assert caught.value.may_be_billed
    assert caught.value.usage is None


def test_a_last_chunk_that_no_blank_line_ends_is_read() -> None:
    whole = read_stream(WIRE, [JAPANESE])
    assert read_stream(WIRE, [JAPANESE.rstrip()]) == whole


@pytest.mark.parametrize("data", ["{", "NaN x", "[" * 200_000])
def test_a_frame_that_is_no_json_is_nonsense(data: str) -> None:
    with pytest.raises(ModelCallFailed) as caught:
        GoogleAssembly(PARTY).add(StreamFrame(data))
    assert caught.value.fault is Fault.NONSENSE


def test_a_stream_that_came_as_one_list_is_read_as_well() -> None:
    chunks = [
        parse_provider_json(event.data.encode()) for event in wire_stream_frames([JAPANESE], "sse")
    ]
    assert WIRE.from_wire(chunks, PARTY) == _read_or_cut([JAPANESE])


def test_a_stream_of_nothing_that_we_know_never_ends(wire: Path) -> None:
    body = (wire / FOLDER / "vertexai-streaming-failure-invalid-json.txt").read_bytes()
    assert _read_or_cut([body]) is None


@given(chunks=st.lists(BODIES, max_size=4))
def test_any_stream_is_an_answer_or_unanswered_or_cut(chunks: list[Any]) -> None:
    assembly = GoogleAssembly(PARTY)
    try:
        for chunk in chunks:
            assembly.add(StreamFrame(json.dumps(chunk)))
        WIRE.from_wire(assembly.body(), PARTY)
    except ModelCallFailed:
        return
    assert assembly.has_content in (True, False)
