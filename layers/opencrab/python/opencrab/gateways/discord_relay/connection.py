"""Connection: the interface to OpenCrab, which whoever runs the relay provides."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from opencrab.domain.discord.community import Presence


class PostToApi(Protocol):
    """A function that posts an item to OpenCrab's API, once per key; raises OpenCrab's errors."""

    def __call__(self, what: str, body: Mapping[str, Any], /, *, key: str) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class RelayConnection:
    """The configuration of the relay: Discord's token and address, and access to OpenCrab.

    `presences` returns where agents take part now; `tell` reports events (`ready`, `waits` or
    `refused`, with details); `memory` is the file with the last posted message of each channel.
    `pauses` are the seconds between retries; the last one is used for all further retries.
    """

    token: str
    api: str
    bring: PostToApi
    presences: Callable[[], tuple[Presence, ...]]
    tell: Callable[..., None]
    now: Callable[[], datetime]
    memory: Path
    pauses: Sequence[float] = (1, 2, 5, 10, 30, 60)

    def load_positions(self) -> dict[str, str]:
        """Read the id of the last posted message of each channel; empty if unreadable."""
        with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            kept = json.loads(self.memory.read_text(encoding="utf-8"))
            return {str(channel): str(int(last)) for channel, last in kept["seen"].items()}
        return {}

    def save_positions(self, seen: Mapping[str, str]) -> None:
        """Store the ids, replacing the whole file atomically."""
        self.memory.parent.mkdir(parents=True, exist_ok=True)
        beside = self.memory.with_suffix(".new")
        beside.write_text(json.dumps({"v": 1, "seen": dict(seen)}), encoding="utf-8")
        beside.replace(self.memory)
