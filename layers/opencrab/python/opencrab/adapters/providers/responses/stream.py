"""Streams of the Responses API: events put together into the response that they amount to."""

from typing import Any

from opencrab.adapters.providers.openai.answer import Counting
from opencrab.adapters.providers.openai.error import openai_error_within
from opencrab.adapters.providers.responses.answer import response_usage
from opencrab.adapters.providers.wire.lenient import (
    parse_provider_json,
    wire_dict,
    wire_list,
)
from opencrab.adapters.providers.wire.wire import ErrorParty, StreamFrame
from opencrab.domain.money.budget import Usage

Item = dict[str, Any]

_DONE = "[DONE]"
_LAST = frozenset({"response.completed", "response.incomplete"})
_FAILED = frozenset({"response.failed", "response.cancelled"})
_DELTAS = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "refusal",
    "response.reasoning_summary_text.delta": "summary",
    "response.reasoning_text.delta": "thinking",
    "response.function_call_arguments.delta": "arguments",
    "response.custom_tool_call_input.delta": "arguments",
}
_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}


class ResponsesAssembly:
    """A response assembled from events; the last event brings the whole of it once more."""

    def __init__(self, party: ErrorParty, counting: Counting) -> None:
        self._party = party
        self._counting = counting
        self._items: dict[int, _Item] = {}
        self._begun: Item = {}
        self._last: Item | None = None

    @property
    def has_content(self) -> bool:
        return any(item.has_content for item in self._items.values())

    @property
    def is_complete(self) -> bool:
        return self._last is not None

    @property
    def text(self) -> str:
        return "".join(item.words for _, item in sorted(self._items.items()))

    @property
    def has_calls(self) -> bool:
        return any(item.kind in _CALLS for item in self._items.values())

    def add(self, event: StreamFrame) -> None:
        if event.data.strip() == _DONE or self.is_complete:
            return
        data = event.data.encode("utf-8", "replace")
        said = wire_dict(parse_provider_json(data, self._party.provider))
        kind = str(said.get("type") or event.name)
        response = wire_dict(said.get("response"))
        if kind == "error" or kind in _FAILED or (not kind and said.get("error")):
            raise self._failed(said, response)
        if kind in _LAST:
            self._last = response
        elif response:
            self._begun = response
        elif kind in {"response.output_item.added", "response.output_item.done"}:
            self._item(said).fields = wire_dict(said.get("item"))
        elif kind in _DELTAS and isinstance(said.get("delta"), str):
            self._item(said).add(_DELTAS[kind], said["delta"])

    def body(self) -> Any:
        last = self._begun if self._last is None else self._last
        if self._last is not None and wire_list(last.get("output")):
            return last
        return {**last, "output": [item.entry() for _, item in sorted(self._items.items())]}

    def _item(self, said: Item) -> "_Item":
        index = said.get("output_index")
        return self._items.setdefault(index if isinstance(index, int) else 0, _Item())

    def _failed(self, said: Item, response: Item) -> Exception:
        """Return the error; the tokens that a failed response reports are billed."""
        usage = response_usage(response, self._party, self._counting) if response else Usage()
        error = response.get("error") or said.get("error") or said
        return openai_error_within(error, self._party, usage=usage, began=self.has_content)


class _Item:
    """An output item whose deltas are arriving; once it is done, its fields are whole."""

    def __init__(self) -> None:
        self.fields: Item = {}
        self._pieces: dict[str, list[str]] = {}

    @property
    def kind(self) -> str:
        return str(self.fields.get("type", ""))

    @property
    def has_content(self) -> bool:
        return bool(self._pieces) or self.kind in _CALLS

    @property
    def words(self) -> str:
        return self._joined("text") or self._joined("refusal")

    def add(self, name: str, piece: str) -> None:
        """Append a delta."""
        if piece:
            self._pieces.setdefault(name, []).append(piece)

    def entry(self) -> Item:
        """Return the item as a non-streaming response has it."""
        if self.kind in _CALLS:
            name = _CALLS[self.kind]
            return {**self.fields, name: self._joined("arguments") or self.fields.get(name)}
        if "summary" in self._pieces or "thinking" in self._pieces:
            summary = [{"text": self._joined("summary")}] if "summary" in self._pieces else []
            content = [{"text": self._joined("thinking")}] if "thinking" in self._pieces else []
            return {"type": "reasoning", **self.fields, "summary": summary, "content": content}
        if self._pieces:
            return {"type": "message", **self.fields, "content": [{"text": self.words}]}
        return self.fields

    def _joined(self, name: str) -> str:
        return "".join(self._pieces.get(name, ()))
