"""Gemini's streams, put together into the body that the same answer has in one piece."""

from typing import Any

from opencrab.adapters.providers.google.answer import (
    google_block_reason,
    google_candidate,
    google_finish_reason,
    google_part_says_something,
)
from opencrab.adapters.providers.google.error import google_error_of_body
from opencrab.adapters.providers.wire.lenient import (
    parse_provider_json,
    wire_dict,
    wire_list,
)
from opencrab.adapters.providers.wire.wire import ErrorParty, StreamFrame


class GoogleAssembly:
    """A response assembled from the chunks of a stream; each chunk has more parts."""

    def __init__(self, party: ErrorParty) -> None:
        self._party = party
        self._parts: list[Any] = []
        self._candidate: dict[str, Any] = {}
        self._rest: dict[str, Any] = {}
        self._began = False

    @property
    def has_content(self) -> bool:
        return self._began

    @property
    def is_complete(self) -> bool:
        if self._candidate:
            return bool(google_finish_reason(self._candidate.get("finishReason")))
        return bool(google_block_reason(self._rest))

    @property
    def text(self) -> str:
        parts = (part for part in map(wire_dict, self._parts) if part.get("thought") is not True)
        return "".join(text for part in parts if isinstance(text := part.get("text"), str))

    @property
    def has_calls(self) -> bool:
        return any(wire_dict(part).get("functionCall") for part in self._parts)

    def add(self, event: StreamFrame) -> None:
        if not event.data.strip():
            return
        data = event.data.encode("utf-8", "replace")
        chunk = parse_provider_json(data, self._party.provider)
        for each in chunk if isinstance(chunk, list) else [chunk]:
            self.take(each)

    def take(self, chunk: Any) -> None:
        """Add one chunk; raise ModelCallFailed for an error."""
        chunk = wire_dict(chunk)
        if chunk.get("error"):
            counted = bool(self._rest.get("usageMetadata"))
            raise google_error_of_body(chunk, self._party, billed=self._began or counted or None)
        for key in ("usageMetadata", "modelVersion", "promptFeedback"):
            if chunk.get(key):
                self._rest[key] = chunk[key]
        candidate = google_candidate(chunk)
        if candidate is None:
            return
        parts = wire_list(wire_dict(candidate.get("content")).get("parts"))
        self._parts.extend(parts)
        self._began = self._began or any(map(google_part_says_something, parts))
        self._candidate["index"] = 0
        for key in ("finishReason", "finishMessage"):
            if candidate.get(key):
                self._candidate[key] = candidate[key]

    def body(self) -> Any:
        if not self._candidate:
            return self._rest
        return {
            **self._rest,
            "candidates": [{**self._candidate, "content": {"parts": self._parts}}],
        }


def join_google_chunks(chunks: list[Any], party: ErrorParty) -> Any:
    """Join the chunks of a response that came as a JSON array instead of server-sent events."""
    assembly = GoogleAssembly(party)
    for chunk in chunks:
        assembly.take(chunk)
    return assembly.body()
