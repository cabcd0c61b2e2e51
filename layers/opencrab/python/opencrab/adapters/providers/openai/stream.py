"""Streams of OpenAI-shaped servers: chunks put together into the completion that they amount to."""

import json
from dataclasses import dataclass, field
from typing import Any, Self

from opencrab.adapters.providers.openai.answer import (
    Counting,
    text_of_openai_parts,
    thinking_of_openai_parts,
)
from opencrab.adapters.providers.openai.error import openai_error_within
from opencrab.adapters.providers.wire.lenient import (
    as_wire_label,
    wire_dict,
    wire_json_excerpt,
    wire_list,
)
from opencrab.adapters.providers.wire.wire import ErrorParty, StreamFrame
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.money.budget import Usage

_WORDS = ("content", "refusal", "reasoning_content", "reasoning", "thinking")
_DONE = "[DONE]"
_ARGUMENTS = {"function": "arguments", "custom": "input"}


class OpenAIChatAssembly:
    """A chat completion assembled from stream chunks; only the first choice counts."""

    def __init__(self, party: ErrorParty, counting: Counting) -> None:
        self._party = party
        self._counting = counting
        self._words = {name: list[str]() for name in _WORDS}
        self._calls = list[_Call]()
        self._by_index = dict[int, _Call]()
        self._details = list[_Detail]()
        self._whole: dict[str, Any] | None = None
        self._chose = False
        self._model: Any = None
        self._usage: Any = None
        self._finish: Any = None
        self._done = False

    @property
    def has_content(self) -> bool:
        """True if any text, reasoning or tool call has arrived."""
        pieces = any(self._words.values()) or self._calls or self._details
        return bool(pieces or self._whole)

    @property
    def is_complete(self) -> bool:
        """True if the stream is complete: by [DONE], a finish reason, or a whole message."""
        return self._done or self._finish is not None or self._whole is not None

    @property
    def text(self) -> str:
        """The text that has arrived; "" while an answer comes in one piece."""
        return "".join(self._words["content"])

    @property
    def has_calls(self) -> bool:
        """True if any tool call has begun to arrive."""
        return bool(self._calls)

    def add(self, event: StreamFrame) -> None:
        """Process one chunk; ignore chunks after the end, and choices after the first.

        Raises ModelCallFailed for an error, also after a finish reason: OpenRouter sends both in
        one chunk, and an answer with an error after it is not reliable.
        """
        text = event.data.strip()
        if self._done or text == _DONE:
            self._done = True
            return
        chunk = self._parsed(text)
        self._model = self._model or chunk.get("model")
        self._usage = chunk.get("usage") or self._usage
        choices = [wire_dict(choice) for choice in wire_list(chunk.get("choices"))]
        choice = next((each for each in choices if each.get("index") in (0, None)), {})
        if error := chunk.get("error") or choice.get("error"):
            raise self._failed(error, is_final=bool(chunk.get("usage")))
        self._take(choice)

    def body(self) -> Any:
        """Return what has arrived so far, as a non-streaming completion."""
        message: dict[str, Any] = {
            name: "".join(pieces) for name, pieces in self._words.items() if pieces
        }
        if thinking := message.pop("thinking", ""):
            message["content"] = _openai_parts(thinking, message.get("content", ""))
        if self._calls:
            message["tool_calls"] = [call.entry() for call in self._calls]
        if self._details:
            message["reasoning_details"] = [detail.entry() for detail in self._details]
        choice = {"message": self._whole or message, "finish_reason": self._finish}
        choices = [choice] if self._chose else []
        return {"model": self._model, "choices": choices, "usage": self._usage}

    def _failed(self, error: Any, *, is_final: bool) -> ModelCallFailed:
        """Return the error; tokens counted so far are billed, but may be incomplete."""
        usage = self._counting({"usage": self._usage}, self._party)
        began = self.has_content or usage.is_counted
        if not is_final and self._finish is None:
            usage = Usage()
        return openai_error_within(error, self._party, usage=usage, began=began)

    def _parsed(self, text: str) -> dict[str, Any]:
        try:
            return wire_dict(json.loads(text))
        except (ValueError, RecursionError):
            message = (
                f"a chunk of {self._party.provider} is not JSON: {wire_json_excerpt(text[:200])}"
            )
            raise ModelCallFailed(message, Fault.NONSENSE) from None

    def _take(self, choice: dict[str, Any]) -> None:
        self._chose = self._chose or bool(choice)
        self._finish = choice.get("finish_reason") or self._finish
        if isinstance(choice.get("message"), dict) and not choice.get("delta"):
            # An answer in one piece, or one more time all that has come in pieces.
            self._whole = self._whole if self.has_content else choice["message"]
            return
        delta = wire_dict(choice.get("delta"))
        if isinstance(parts := delta.get("content"), list):
            thinking, text = thinking_of_openai_parts(parts), text_of_openai_parts(parts)
            delta = {**delta, "content": text, "thinking": thinking}
        for name, pieces in self._words.items():
            if isinstance(piece := delta.get(name), str) and piece:
                pieces.append(piece)
        for entry in wire_list(delta.get("tool_calls")):
            self._take_call(wire_dict(entry))
        if isinstance(delta.get("function_call"), dict):
            self._take_call({"index": 0, "function": delta["function_call"]})
        for detail in wire_list(delta.get("reasoning_details")):
            self._take_detail(wire_dict(detail))

    def _take_call(self, entry: dict[str, Any]) -> None:
        kind = "custom" if "custom" in entry else "function"
        function = wire_dict(entry.get(kind))
        call_id, name = as_wire_label(entry.get("id")), as_wire_label(function.get("name"))
        index = entry.get("index") if isinstance(entry.get("index"), int) else None
        call = self._begun(index, call_id, name)
        if call is None:
            call = _Call(kind)
            self._calls.append(call)
            self._by_index[len(self._calls) - 1 if index is None else index] = call
        call.id, call.name = call.id or call_id, call.name or name
        arguments = function.get(_ARGUMENTS[kind])
        if isinstance(arguments, str):
            call.pieces.append(arguments)
        elif arguments is not None:
            call.given = arguments

    def _begun(self, index: int | None, call_id: str, name: str) -> "_Call | None":
        """Return the call that a delta continues; None if it begins another one.

        Some servers send index 0 for every call, or none: then another id or a second name begins
        another call.
        """
        if index is not None:
            call = self._by_index.get(index)
        else:
            call = self._calls[-1] if self._calls else None
        if call is None or not (name and call.name):
            return call
        is_other = call_id != call.id if call_id else index is None
        return None if is_other else call

    def _take_detail(self, detail: dict[str, Any]) -> None:
        """Append a reasoning detail to the one before it if both are text of one block."""
        last = self._details[-1] if self._details else None
        if last is None or not last.takes(detail):
            self._details.append(_Detail.from_first_delta(detail))
        else:
            last.add(detail)


def _openai_parts(thinking: str, text: str) -> list[dict[str, Any]]:
    """Return content with thinking as Mistral has it in a non-streaming completion."""
    parts: list[dict[str, Any]] = [
        {"type": "thinking", "thinking": [{"type": "text", "text": thinking}]}
    ]
    return [*parts, {"type": "text", "text": text}] if text else parts


@dataclass
class _Call:
    """A tool call whose deltas are arriving."""

    kind: str
    id: str = ""
    name: str = ""
    given: Any = None
    pieces: list[str] = field(default_factory=list)

    def entry(self) -> dict[str, Any]:
        """Return the call as a non-streaming completion has it."""
        arguments = self.given if self.given is not None else "".join(self.pieces)
        return {"id": self.id, self.kind: {"name": self.name, _ARGUMENTS[self.kind]: arguments}}


@dataclass
class _Detail:
    """A reasoning block whose deltas are arriving; one without text comes whole."""

    fields: dict[str, Any]
    text: str = ""
    pieces: list[str] = field(default_factory=list)

    @classmethod
    def from_first_delta(cls, detail: dict[str, Any]) -> Self:
        """Create a block from its first delta."""
        text = next((key for key in ("text", "summary") if isinstance(detail.get(key), str)), "")
        return cls(dict(detail), text, [detail[text]] if text else [])

    def takes(self, detail: dict[str, Any]) -> bool:
        """Check whether a delta continues this block."""
        same = all(self.fields.get(key) == detail.get(key) for key in ("type", "index"))
        return bool(self.text) and same

    def add(self, detail: dict[str, Any]) -> None:
        """Append a delta; the last one brings the signature."""
        more = detail.get(self.text)
        if isinstance(more, str):
            self.pieces.append(more)
        self.fields |= {key: value for key, value in detail.items() if value is not None}

    def entry(self) -> dict[str, Any]:
        """Return the block as a non-streaming completion has it."""
        return self.fields | ({self.text: "".join(self.pieces)} if self.text else {})
