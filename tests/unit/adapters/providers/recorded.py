"""Recorded exchanges with chat completion servers, as their bytes went over the wire."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

SPOKEN = {
    ("openai", "chat"),
    ("azure", "chat"),
    ("deepseek", "chat"),
    ("llamacpp", "chat"),
    ("ollama", "v1chat"),
}


@dataclass(frozen=True)
class Exchange:
    """A request and what came back for it."""

    name: str
    features: frozenset[str]
    request: bytes
    status: int
    body: bytes

    @cached_property
    def answered(self) -> Any:
        """The answer as a value."""
        return json.loads(self.body)

    @property
    def is_error(self) -> bool:
        """Whether the server refused."""
        return self.status != 200


def exchanges(wire: Path) -> tuple[Exchange, ...]:
    """Every recorded exchange in the form that we speak, streams left out."""
    found = tuple(_chats(wire / "cassettes"))
    assert len(found) > 50, "the recordings are not what they were"
    return found


def _chats(folder: Path) -> Iterator[Exchange]:
    index = json.loads((folder / "INDEX.json").read_text(encoding="utf-8"))
    files = {
        entry["file"]: entry["features"]
        for entry in index["interactions"]
        if (entry["provider"], entry["endpoint"]) in SPOKEN and "stream" not in entry["features"]
    }
    own = ("chat", "chat-jsonschema", "chat-tool", "chat-tool-truncated", "err-401", "err-context")
    files |= {f"llamacpp/{name}.json": [] for name in own}
    for name, features in sorted(files.items()):
        recorded = json.loads((folder / name).read_text(encoding="utf-8"))
        yield Exchange(
            name=name,
            features=frozenset(features),
            request=recorded["request"]["body"].encode(),
            status=recorded["response"]["status"],
            body=recorded["response"]["body"].encode(),
        )
