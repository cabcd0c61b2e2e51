"""Answers of Ollama, whole or line by line: each is a ModelAnswer, or raises ModelCallFailed."""

from typing import Any

from opencrab.adapters.providers.ollama.error import ollama_error_of_body
from opencrab.adapters.providers.wire.lenient import (
    as_wire_label,
    parse_provider_json,
    raw_wire_tool_arguments,
    wire_dict,
    wire_json_excerpt,
    wire_list,
    wire_token_count,
    wire_tool_arguments,
)
from opencrab.adapters.providers.wire.text import repair_wire_text
from opencrab.adapters.providers.wire.wire import ErrorParty, StreamFrame
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.money.budget import Usage
from opencrab.domain.turn.record import ActionCall, ModelAnswer, Reflection

_SHOWN_LENGTH = 300


def ollama_answer(body: Any, party: ErrorParty) -> ModelAnswer:
    """Convert an /api/chat response to a model answer; `done: false` means it was cut off."""
    if not isinstance(body, dict):
        raise ModelCallFailed(
            f"the answer of {party.provider} is not a JSON object: {_short_json_excerpt(body)}",
            Fault.NONSENSE,
        )
    if body.get("error"):
        raise ollama_error_of_body(body, party)
    message = body.get("message")
    if not isinstance(message, dict):
        raise ModelCallFailed(
            f"the answer of {party.provider} has no message: {_short_json_excerpt(body)}",
            Fault.NONSENSE,
        )
    if body.get("done") is False:
        raise ModelCallFailed(f"{party.provider} broke off its answer", Fault.BROKEN_OFF)
    return _answer(message).replaced(
        model=as_wire_label(body.get("model")) or party.model,
        finish=as_wire_label(body.get("done_reason")),
        usage=Usage(
            input_tokens=wire_token_count(body.get("prompt_eval_count")),
            output_tokens=wire_token_count(body.get("eval_count")),
        ),
    )


class OllamaAssembly:
    """A response assembled from JSON lines; the last has `done: true` and the token counts."""

    def __init__(self, party: ErrorParty) -> None:
        self._party = party
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._calls: list[Any] = []
        self._rest: dict[str, Any] = {}

    @property
    def has_content(self) -> bool:
        return bool(self._texts or self._thoughts or self._calls)

    @property
    def is_complete(self) -> bool:
        return self._rest.get("done") is True

    @property
    def text(self) -> str:
        return "".join(self._texts)

    @property
    def has_calls(self) -> bool:
        return bool(self._calls)

    def add(self, event: StreamFrame) -> None:
        if self.is_complete:
            return
        data = event.data.encode("utf-8", "replace")
        line = wire_dict(parse_provider_json(data, self._party.provider))
        if line.get("error"):
            raise ollama_error_of_body(line, self._party, billed=self.has_content or None)
        message = wire_dict(line.pop("message", None))
        for field, pieces in (("content", self._texts), ("thinking", self._thoughts)):
            piece = message.get(field)
            if isinstance(piece, str) and piece:
                pieces.append(piece)
        self._calls.extend(wire_list(message.get("tool_calls")))
        self._rest |= line

    def body(self) -> Any:
        message = {
            "content": "".join(self._texts),
            "thinking": "".join(self._thoughts),
            "tool_calls": self._calls,
        }
        return {**self._rest, "message": message}


def _answer(message: dict[str, Any]) -> ModelAnswer:
    words = repair_wire_text(_text(message.get("content"))).strip()
    entries = [entry for entry in wire_list(message.get("tool_calls")) if entry]
    calls = tuple(_call(f"c{place}", entry) for place, entry in enumerate(entries))
    judgment = repair_wire_text(_text(message.get("thinking"))).strip()
    thought = Reflection(judgment=judgment, intent=words if calls else "")
    return ModelAnswer(
        text="" if calls else words,
        calls=calls,
        thought=thought if thought.judgment or thought.intent else None,
    )


def _call(call_id: str, entry: Any) -> ActionCall:
    function = wire_dict(wire_dict(entry).get("function"))
    arguments = function.get("arguments")
    readable = wire_tool_arguments(arguments)
    raw_text = "" if readable is not None else raw_wire_tool_arguments(arguments)
    return ActionCall(
        id=call_id, name=as_wire_label(function.get("name")), arguments=readable, raw=raw_text
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _short_json_excerpt(value: Any) -> str:
    return wire_json_excerpt(value)[:_SHOWN_LENGTH]
