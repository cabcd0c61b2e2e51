"""Anthropic's named events, put together into the message that they are pieces of."""

from dataclasses import dataclass, field
from typing import Any

from opencrab.adapters.providers.anthropic.error import anthropic_stream_error
from opencrab.adapters.providers.wire.lenient import (
    parse_provider_json,
    wire_dict,
    wire_token_count,
)
from opencrab.adapters.providers.wire.wire import ErrorParty, StreamFrame

_DELTAS = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("thinking", "signature"),
    "input_json_delta": ("tool_use", "partial_json"),
}
_OPENED_BLANK = {"text": "text", "thinking": "thinking"}


@dataclass
class _Block:
    """One content block: its start event and the deltas for its fields."""

    start: dict[str, Any]
    pieces: dict[str, list[str]] = field(default_factory=dict)

    @property
    def is_text(self) -> bool:
        """True for a block of the answer's text."""
        return self.start.get("type") == "text"

    def whole(self) -> dict[str, Any]:
        """Return the block as a non-streaming response has it; arguments remain text."""
        block = dict(self.start)
        for name, pieces in self.pieces.items():
            text = "".join(pieces)
            if name == "partial_json":
                block["input"] = text
                continue
            before = block.get(name)
            block[name] = (before if isinstance(before, str) else "") + text
        return block


class AnthropicAssembly:
    """A message that is assembled from stream events."""

    def __init__(self, party: ErrorParty) -> None:
        self._party = party
        self._message: dict[str, Any] = {}
        self._usage: dict[str, Any] = {}
        self._blocks: dict[int, _Block] = {}
        self._whole: dict[str, Any] | None = None
        self._began = False
        self._stopped = False
        self._ended = False

    @property
    def has_content(self) -> bool:
        return self._began

    @property
    def is_complete(self) -> bool:
        """True if all blocks and token counts have arrived."""
        return self._ended or self._stopped

    @property
    def text(self) -> str:
        blocks = (block.whole() for _, block in sorted(self._blocks.items()) if block.is_text)
        return "".join(str(block.get("text") or "") for block in blocks)

    @property
    def has_calls(self) -> bool:
        return any(block.start.get("type") == "tool_use" for block in self._blocks.values())

    def add(self, event: StreamFrame) -> None:
        """Process one event; raise ModelCallFailed for an error event.

        The call counts as billed once content or token counts have arrived.
        """
        if self._ended or not event.data.strip():
            return
        sent = event.data.encode("utf-8", "replace")
        data = wire_dict(parse_provider_json(sent, self._party.provider))
        if not (data.get("error") or data.get("type") == "error"):
            self._take(data.get("type") or event.name, data)
        elif not self._stopped:
            counted = any(map(wire_token_count, self._usage.values()))
            raise anthropic_stream_error(data, self._party, billed=self._began or counted or None)

    def _take(self, kind: Any, data: dict[str, Any]) -> None:
        match kind:
            case "message_start":
                self._start(wire_dict(data.get("message")))
            case "content_block_start":
                self._open(_place(data), wire_dict(data.get("content_block")))
            case "content_block_delta":
                self._append(_place(data), wire_dict(data.get("delta")))
            case "message_delta":
                delta = wire_dict(data.get("delta"))
                self._message.update(delta)
                self._count(data.get("usage"))
                self._stopped = self._stopped or bool(delta.get("stop_reason"))
            case "message_stop":
                self._ended = True
            case "message":
                self._whole = data
                self._began = self._ended = True

    def body(self) -> Any:
        if self._whole is not None:
            return self._whole
        if not self._message and not self._blocks:
            return {}
        content = [block.whole() for _, block in sorted(self._blocks.items())]
        return {**self._message, "content": content, "usage": self._usage}

    def _start(self, message: dict[str, Any]) -> None:
        self._message = {**message, **self._message}
        self._count(message.get("usage"))

    def _open(self, place: int, start: dict[str, Any]) -> None:
        self._blocks.setdefault(place, _Block(start))
        kind = start.get("type")
        blank = _OPENED_BLANK.get(kind) if isinstance(kind, str) else None
        self._began = self._began or blank is None or bool(start.get(blank))

    def _append(self, place: int, delta: dict[str, Any]) -> None:
        """Append a delta; create its block if the server sent no start event."""
        kind = delta.get("type")
        owner, name = _DELTAS.get(kind, ("", "")) if isinstance(kind, str) else ("", "")
        piece = delta.get(name)
        if not isinstance(piece, str) or not piece:
            return
        block = self._blocks.setdefault(place, _Block({"type": owner}))
        block.pieces.setdefault(name, []).append(piece)
        self._began = True

    def _count(self, usage: Any) -> None:
        """Merge token counts; later ones include earlier ones and omit unchanged fields."""
        told = wire_dict(usage).items()
        self._usage.update({name: value for name, value in told if value is not None})


def _place(data: dict[str, Any]) -> int:
    """Return the index of an event's content block; 0 without one."""
    index = data.get("index")
    return index if isinstance(index, int) else 0
