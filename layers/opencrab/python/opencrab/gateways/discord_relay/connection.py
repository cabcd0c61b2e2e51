"""Connection: what the relay needs of whoever runs it, which is OpenCrab's side of it."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from opencrab.domain.discord.community import Presence


class PostToApi(Protocol):
    """Post one thing to OpenCrab's API, once for each key; raises OpenCrab's errors."""

    def __call__(self, what: str, body: Mapping[str, Any], /, *, key: str) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class RelayConnection:
    """Discord's token and address, and the way to OpenCrab.

    `presences` are where agents take part now; `tell` says what happens (`ready`, `waits` or
    `refused`, with its facts); `memory` is the file that keeps up to where everything was brought.
    `pauses` are the seconds between tries; the last is that between all others.
    """

    token: str
    api: str
    bring: PostToApi
    presences: Callable[[], tuple[Presence, ...]]
    tell: Callable[..., None]
    now: Callable[[], datetime]
    memory: Path
    pauses: Sequence[float] = (1, 2, 5, 10, 30, 60)

    def remembered(self) -> dict[str, str]:
        """Up to where everything was brought, by channel; nothing where that is not known."""
        with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            kept = json.loads(self.memory.read_text(encoding="utf-8"))
            return {str(channel): str(int(last)) for channel, last in kept["seen"].items()}
        return {}

    def remember(self, seen: Mapping[str, str]) -> None:
        """Keep it, whole or not at all."""
        self.memory.parent.mkdir(parents=True, exist_ok=True)
        beside = self.memory.with_suffix(".new")
        beside.write_text(json.dumps({"v": 1, "seen": dict(seen)}), encoding="utf-8")
        beside.replace(self.memory)
