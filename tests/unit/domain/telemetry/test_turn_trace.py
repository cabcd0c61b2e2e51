"""The trace of a turn: what a receiver may read of it."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from opencrab.domain.telemetry.turn_trace import CONTENT_LETTERS, TurnTrace, trace_of_turn
from opencrab.domain.turn.action import ActionResult
from opencrab.domain.turn.record import (
    ActionCall,
    CallResult,
    CallState,
    ModelAnswer,
    ModelIntent,
    ModelResult,
)
from tests.contract.example import turn

AT = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)


def traced(name: str, arguments: dict[str, Any], *, content: bool = False) -> TurnTrace:
    """The trace of a turn whose model calls one action."""
    call = ActionCall(id="c1_0", name=name, arguments=arguments)
    records = (
        ModelIntent(n=1, model="openai:gpt", request_hash="h", reserved=0),
        ModelResult(n=1, state=CallState.COMPLETED, answer=ModelAnswer(calls=(call,)), at=AT),
        CallResult(
            n=2,
            call_id="c1_0",
            name=name,
            state=CallState.REFUSED,
            result=ActionResult.failure("潮"),
            at=AT,
        ),
    )
    return trace_of_turn(turn(), records, "蟹", content=content)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("write_file", "write_file"),
        ("mcp__api__get_a", "mcp__api__get_a"),
        ("私の秘密は干潮です", "unknown"),
        ("tell Bob that the key is 7", "unknown"),
        ("x" * 65, "unknown"),
    ],
)
def test_an_action_is_named_unless_no_action_has_such_a_name(name: str, told: str) -> None:
    chat, tool = traced(name, {}).calls
    assert (tool.name, tool.attributes["gen_ai.tool.name"]) == (f"execute_tool {told}", told)
    assert name == told or name not in repr((chat, tool))


def test_without_content_nothing_is_said() -> None:
    assert "干潮" not in repr(traced("write_file", {"content": "干潮"}))
    assert "干潮" in repr(traced("write_file", {"content": "干潮"}, content=True))


def test_arguments_are_cut_wherever_they_are_told() -> None:
    trace = traced("write_file", {"content": "潮" * 500_000}, content=True)
    chat, tool = trace.calls
    (message,) = json.loads(str(chat.attributes["gen_ai.output.messages"]))
    assert len(message["parts"][0]["arguments"]) == CONTENT_LETTERS
    assert len(str(tool.attributes["gen_ai.tool.call.arguments"])) == CONTENT_LETTERS
