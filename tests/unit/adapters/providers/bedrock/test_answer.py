"""Answers of Converse: words, thoughts, calls and counts, and what is withheld."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.providers.bedrock.answer import bedrock_answer
from opencrab.adapters.providers.bedrock.endpoint import BedrockWire
from opencrab.adapters.providers.wire.wire import ErrorParty
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.money.budget import Usage
from tests.unit.adapters.providers.recorded import exchanges, read

PARTY = ErrorParty("bedrock", "us.anthropic.claude-sonnet-4-5", "AWS_BEARER_TOKEN_BEDROCK")
TOKENS = {"inputTokens": 12, "outputTokens": 5, "totalTokens": 17}
KNOWN = (
    "output", "message", "content", "text", "toolUse", "input", "name", "usage",
    "reasoningContent", "reasoningText", "stopReason", "inputTokens", "cacheDetails",
)  # fmt: skip
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KNOWN),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


def _body(*content: Any, stop: str = "end_turn", usage: Any = None) -> dict[str, Any]:
    message = {"role": "assistant", "content": list(content)}
    return {"output": {"message": message}, "stopReason": stop, "usage": usage or TOKENS}


def test_words_calls_and_thoughts_are_told_apart() -> None:
    thought = {"reasoningContent": {"reasoningText": {"text": "書こう", "signature": "s1"}}}
    call = {"toolUse": {"toolUseId": "tooluse_1", "name": "ws_write", "input": {"path": "蟹.md"}}}
    answer = bedrock_answer(_body(thought, {"text": "書きます"}, call, stop="tool_use"), PARTY)
    assert answer.text == ""
    assert answer.thought is not None
    assert (answer.thought.judgment, answer.thought.intent) == ("書こう", "書きます")
    assert [(each.name, each.arguments) for each in answer.calls] == [
        ("ws_write", {"path": "蟹.md"})
    ]
    assert (answer.finish, answer.model) == ("tool_use", PARTY.model)


def test_tools_that_ran_at_aws_are_no_calls_and_cited_words_are_words() -> None:
    ran = {"toolUse": {"type": "server_tool_use", "name": "nova_grounding", "input": {}}}
    cited = {"citationsContent": {"content": [{"text": "蟹は10本足。"}], "citations": []}}
    answer = bedrock_answer(_body(ran, {"toolResult": {}}, cited, {"text": "以上"}), PARTY)
    assert (answer.text, answer.calls) == ("蟹は10本足。以上", ())


def test_what_was_read_from_and_written_to_a_cache_is_part_of_the_input() -> None:
    usage = {
        "inputTokens": 3,
        "outputTokens": 7,
        "cacheReadInputTokens": 100,
        "cacheWriteInputTokens": 50,
        "cacheDetails": [{"ttl": "5m", "inputTokens": 30}, {"ttl": "1h", "inputTokens": 20}],
    }
    assert bedrock_answer(_body({"text": "はい"}, usage=usage), PARTY).usage == Usage(
        input_tokens=153,
        output_tokens=7,
        cached_tokens=100,
        cache_write_tokens=30,
        cache_write_long_tokens=20,
    )


@pytest.mark.parametrize(
    ("stop", "fault"),
    [
        ("guardrail_intervened", Fault.BLOCKED),
        ("content_filtered", Fault.BLOCKED),
        ("model_context_window_exceeded", Fault.TOO_LONG),
        ("malformed_tool_use", Fault.NONSENSE),
        ("malformed_model_output", Fault.NONSENSE),
    ],
)
def test_a_stop_that_is_no_answer_is_billed_as_counted(stop: str, fault: Fault) -> None:
    with pytest.raises(ModelCallFailed) as caught:
        bedrock_answer(_body({"text": "Sorry, the guardrail says no."}, stop=stop), PARTY)
    assert caught.value.fault is fault
    assert caught.value.may_be_billed
    assert caught.value.usage == Usage(input_tokens=12, output_tokens=5)


@pytest.mark.parametrize("stop", ["end_turn", "max_tokens", "stop_sequence", "new_in_2027", None])
def test_other_stops_are_answers(stop: Any) -> None:
    assert bedrock_answer(_body({"text": "はい"}, stop=stop), PARTY).text == "はい"


@given(anything)
def test_any_json_becomes_an_answer_or_a_failure(body: Any) -> None:
    try:
        bedrock_answer(body, PARTY).model_dump_json()
    except ModelCallFailed:
        return


def test_every_recorded_whole_answer_loses_nothing(wire: Path) -> None:
    for exchange in exchanges(wire, "bedrock", "converse"):
        if exchange.is_error or exchange.answered["stopReason"] == "guardrail_intervened":
            continue
        said = exchange.answered
        blocks = said["output"]["message"]["content"]
        answer = read(BedrockWire(), exchange)
        cited = [each for block in blocks for each in _texts(block)]
        words = answer.thought.intent if answer.calls and answer.thought else answer.text
        assert words == "".join(cited).strip(), exchange.name
        calls = [block["toolUse"] for block in blocks if "toolUse" in block]
        calls = [call for call in calls if call.get("type") != "server_tool_use"]
        assert [(call["name"], call["input"]) for call in calls] == [
            (call.name, call.arguments) for call in answer.calls
        ], exchange.name
        total = answer.usage.input_tokens + answer.usage.output_tokens
        assert total == said["usage"]["totalTokens"], exchange.name
        assert answer.finish == said["stopReason"], exchange.name


def _texts(block: Any) -> list[str]:
    if "citationsContent" in block:
        return [part["text"] for part in block["citationsContent"].get("content", ())]
    return [block["text"]] if "text" in block else []
