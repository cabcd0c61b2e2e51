"""Streams of Bedrock's ConverseStream: events put together into the response that they make."""

import json
from typing import Any

from opencrab.adapters.providers.bedrock.error import bedrock_error_of_body
from opencrab.adapters.providers.wire.lenient import (
    parse_provider_json,
    wire_dict,
)
from opencrab.adapters.providers.wire.wire import ErrorParty, StreamFrame

_EVENTS = frozenset(
    {
        "messageStart",
        "contentBlockStart",
        "contentBlockDelta",
        "contentBlockStop",
        "messageStop",
        "metadata",
    }
)
_FAILURES = ("exception", "error", "failure")


class BedrockAssembly:
    """A Converse response assembled from events; blocks may arrive interleaved."""

    def __init__(self, party: ErrorParty) -> None:
        self._party = party
        self._blocks: dict[int, _Block] = {}
        self._stop: Any = None
        self._usage: Any = None

    @property
    def has_content(self) -> bool:
        return any(block.has_content for block in self._blocks.values())

    @property
    def is_complete(self) -> bool:
        return self._stop is not None

    @property
    def text(self) -> str:
        return "".join(block.text for _, block in sorted(self._blocks.items()))

    @property
    def has_calls(self) -> bool:
        return any(block.call is not None for block in self._blocks.values())

    def add(self, event: StreamFrame) -> None:
        data = event.data.encode("utf-8", "replace")
        said = wire_dict(parse_provider_json(data, self._party.provider))
        if event.name not in _EVENTS:
            if event.name.lower().endswith(_FAILURES):
                began = self.has_content or self._usage is not None
                raise bedrock_error_of_body(
                    said, self._party, kind=event.name, billed=True if began else None
                )
            return
        if event.name == "messageStop":
            self._stop = said.get("stopReason") or "end_turn"
        elif event.name == "metadata":
            self._usage = said.get("usage")
        elif event.name.startswith("contentBlock"):
            self._take(said)

    def body(self) -> Any:
        content = [block.entry() for _, block in sorted(self._blocks.items())]
        message = {"role": "assistant", "content": content}
        return {"output": {"message": message}, "stopReason": self._stop, "usage": self._usage}

    def _take(self, said: dict[str, Any]) -> None:
        index = said.get("contentBlockIndex")
        block = self._blocks.setdefault(index if isinstance(index, int) else 0, _Block())
        start = wire_dict(said.get("start"))
        if "toolUse" in start:
            block.call = wire_dict(start["toolUse"])
        elif start:
            block.other = True
        block.add(wire_dict(said.get("delta")))


class _Block:
    """One content block whose deltas are arriving."""

    def __init__(self) -> None:
        self.call: dict[str, Any] | None = None
        self.other = False
        self._pieces: dict[str, list[str]] = {}

    @property
    def text(self) -> str:
        return self._joined("text")

    @property
    def has_content(self) -> bool:
        return bool(self._pieces) or self.call is not None

    def add(self, delta: dict[str, Any]) -> None:
        reasoning = wire_dict(delta.get("reasoningContent"))
        for kind, piece in (
            ("text", delta.get("text")),
            ("input", wire_dict(delta.get("toolUse")).get("input")),
            ("reasoning", reasoning.get("text")),
            ("signature", reasoning.get("signature")),
            ("redacted", reasoning.get("redactedContent")),
        ):
            if isinstance(piece, str) and piece:
                self._pieces.setdefault(kind, []).append(piece)

    def entry(self) -> dict[str, Any]:
        """Return the block as a non-streaming response has it."""
        if self.call is not None:
            return {"toolUse": {**self.call, "input": _parse_arguments(self._joined("input"))}}
        if "redacted" in self._pieces:
            return {"reasoningContent": {"redactedContent": self._joined("redacted")}}
        if "reasoning" in self._pieces or "signature" in self._pieces:
            text = {"text": self._joined("reasoning"), "signature": self._joined("signature")}
            return {"reasoningContent": {"reasoningText": text}}
        return {} if self.other else {"text": self.text}

    def _joined(self, kind: str) -> str:
        return "".join(self._pieces.get(kind, ()))


def _parse_arguments(arguments: str) -> Any:
    """Return arguments as an object; the text itself if they are not whole."""
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
