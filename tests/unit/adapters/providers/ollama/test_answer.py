"""What comes back from Ollama: every body and every stream is an answer or ModelCallFailed."""

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.providers.ollama.answer import OllamaAssembly, ollama_answer
from opencrab.adapters.providers.ollama.endpoint import OllamaWire
from opencrab.adapters.providers.vendor import VendorModel
from opencrab.adapters.providers.wire.framing import wire_stream_frames
from opencrab.adapters.providers.wire.wire import Endpoint, StreamFrame
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.money.budget import Usage
from opencrab.domain.turn.record import ModelAnswer
from opencrab.ports.models.model import ChatMessage, ChatRequest, ModelInfo
from tests.unit.adapters.providers.fake import Replying
from tests.unit.adapters.providers.recorded import PARTY, read_stream

WIRE = OllamaWire()


def _body(content: Any = "", **changes: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": content}
    message |= {key: changes.pop(key) for key in ("thinking", "tool_calls") if key in changes}
    return {"model": "qwen3", "message": message, "done": True, "done_reason": "stop", **changes}


def _calling(arguments: Any, name: Any = "ws_write") -> dict[str, Any]:
    return {"function": {"name": name, "arguments": arguments}}


def test_words_become_text() -> None:
    answer = ollama_answer(_body("こんにちは🦀", prompt_eval_count=5, eval_count=3), PARTY)
    assert (answer.text, answer.finish, answer.model) == ("こんにちは🦀", "stop", "qwen3")
    assert answer.usage == Usage(input_tokens=5, output_tokens=3)


@pytest.mark.parametrize("count", [None, -1, "x", float("nan"), True])
def test_a_count_that_is_missing_or_nonsense_is_none(count: Any) -> None:
    usage = ollama_answer(_body("蟹", prompt_eval_count=count, eval_count=3), PARTY).usage
    assert usage == Usage(output_tokens=3)


def test_calls_count_although_the_reason_is_stop() -> None:
    calls = [_calling({"path": "蟹.md"}), _calling('{"a": 1}'), _calling(None)]
    answer = ollama_answer(_body("書きます", tool_calls=calls, thinking="考える"), PARTY)
    assert [(call.id, call.arguments) for call in answer.calls] == [
        ("c0", {"path": "蟹.md"}),
        ("c1", {"a": 1}),
        ("c2", {}),
    ]
    assert answer.text == ""
    assert answer.thought is not None
    assert (answer.thought.judgment, answer.thought.intent) == ("考える", "書きます")


def test_thoughts_are_kept_apart_whichever_way_they_come() -> None:
    answer = ollama_answer(_body("`<think>` はい", thinking="ふむ"), PARTY)
    assert answer.text == "`<think>` はい"
    assert answer.thought is not None
    assert answer.thought.judgment == "ふむ"


@pytest.mark.parametrize("arguments", ["{", [1], 5, {"a": float("inf")}])
def test_arguments_that_are_none_are_kept_as_text(arguments: Any) -> None:
    (call,) = ollama_answer(_body(tool_calls=[_calling(arguments)]), PARTY).calls
    assert call.arguments is None
    assert call.raw


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ({}, Fault.NONSENSE),
        ([], Fault.NONSENSE),
        ("蟹", Fault.NONSENSE),
        ({"message": "蟹", "done": True}, Fault.NONSENSE),
        ({**_body("半分"), "done": False}, Fault.BROKEN_OFF),
        ({"error": "model 'x' not found"}, Fault.MODEL_GONE),
    ],
)
def test_what_is_no_answer_is_unanswered(body: Any, fault: Fault) -> None:
    with pytest.raises(ModelCallFailed) as caught:
        ollama_answer(body, PARTY)
    assert caught.value.fault is fault


def _lines(*lines: Any) -> bytes:
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()


def _line(content: str = "", **fields: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": content, **fields}
    return {"model": "qwen3", "message": message, "done": False}


JAPANESE = _lines(
    _line(thinking="考える🦀"),
    _line("今日は"),
    _line("晴れ☀️です"),
    _line(tool_calls=[_calling({"道": "日記.md", "文": "蟹と\n散歩"})]),
    {**_body(), "prompt_eval_count": 12, "eval_count": 8},
)


def _read_or_cut(chunks: Iterable[bytes]) -> ModelAnswer | None:
    """The answer of a stream; None where it was cut."""
    assembly = OllamaAssembly(PARTY)
    for event in wire_stream_frames(chunks, "ndjson"):
        assembly.add(event)
    return ollama_answer(assembly.body(), PARTY) if assembly.is_complete else None


def test_a_stream_amounts_to_the_same_as_the_answer_in_one_piece() -> None:
    answer = read_stream(WIRE, [JAPANESE])
    assert answer.thought is not None
    assert (answer.thought.judgment, answer.thought.intent) == ("考える🦀", "今日は晴れ☀️です")
    assert answer.calls[0].arguments == {"道": "日記.md", "文": "蟹と\n散歩"}
    assert answer.usage == Usage(input_tokens=12, output_tokens=8)
    assert answer.finish == "stop"


def test_a_stream_cut_at_any_byte_is_whole_or_cut_and_never_half() -> None:
    whole = _read_or_cut([JAPANESE])
    for cut in range(len(JAPANESE)):
        assert _read_or_cut([JAPANESE[:cut]]) in (None, whole)
        assert _read_or_cut([JAPANESE[:cut], JAPANESE[cut:]]) == whole


def test_a_model_whose_stream_is_cut_says_that_it_broke_off() -> None:
    endpoint = Endpoint("ollama", "http://localhost:11434")
    faults = set[Fault]()
    whole = read_stream(WIRE, [JAPANESE])
    request = ChatRequest("qwen3", (), "", (ChatMessage("user", "蟹"),), 100)
    for cut in range(0, len(JAPANESE) + 1, 7):
        server = Replying(chunks=[JAPANESE[:cut]], headers={"content-type": "application/x-ndjson"})
        model = VendorModel(WIRE, endpoint, "qwen3", ModelInfo("ollama:qwen3"), server)
        try:
            answer = model.chat(request, model.encode(request))
        except ModelCallFailed as error:
            faults.add(error.fault)
        else:
            assert (answer.thought, answer.calls) == (whole.thought, whole.calls)
    assert faults == {Fault.BROKEN_OFF}


def test_what_comes_after_the_end_is_not_read() -> None:
    after = _lines({**_body("二度"), "eval_count": 99}) + b"x\n"
    assert _read_or_cut([JAPANESE, after]) == _read_or_cut([JAPANESE])


@pytest.mark.parametrize("data", ["x", "[" * 200_000, "{]}"])
def test_a_line_that_is_no_json_is_nonsense(data: str) -> None:
    with pytest.raises(ModelCallFailed) as caught:
        OllamaAssembly(PARTY).add(StreamFrame(data))
    assert caught.value.fault is Fault.NONSENSE


@pytest.mark.parametrize("began", [True, False])
def test_an_error_in_the_middle_was_billed_if_anything_had_begun(*, began: bool) -> None:
    lines = [_line("はじめ")] if began else [_line()]
    with pytest.raises(ModelCallFailed) as caught:
        read_stream(WIRE, [_lines(*lines, {"error": "server busy, please try again"})])
    assert caught.value.fault is Fault.OVERLOADED
    assert caught.value.may_be_billed is began


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["model", "message", "content", "thinking", "tool_calls", "function", "name",
             "arguments", "done", "done_reason", "error", "eval_count", "x"]
        ),
        inner,
        max_size=4,
    ),
    max_leaves=20,
)  # fmt: skip
BODIES = JSON | st.builds(
    lambda text, thinking, calls: _body(text, thinking=thinking, tool_calls=calls), JSON, JSON, JSON
)


@given(body=BODIES)
def test_any_body_is_an_answer_or_unanswered(body: Any) -> None:
    try:
        answer = ollama_answer(body, PARTY)
    except ModelCallFailed:
        return
    assert ModelAnswer.model_validate_json(answer.model_dump_json()) == answer


@given(lines=st.lists(BODIES, max_size=4))
def test_any_stream_is_an_answer_or_unanswered(lines: list[Any]) -> None:
    assembly = OllamaAssembly(PARTY)
    try:
        for line in lines:
            assembly.add(StreamFrame(json.dumps(line)))
        answer = ollama_answer(assembly.body(), PARTY)
    except ModelCallFailed:
        return
    assert ModelAnswer.model_validate_json(answer.model_dump_json()) == answer
