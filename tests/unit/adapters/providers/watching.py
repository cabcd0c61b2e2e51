"""Whoever follows a model call in tests: what was shown, and when to stop."""

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Watcher:
    """An AnswerWatch that keeps every text, and stops the call once so many have been shown."""

    stop_after: int | None = None
    shown: list[str] = field(default_factory=list)

    def show(self, text: Callable[[], str]) -> None:
        self.shown.append(text())

    def is_stopped(self) -> bool:
        return self.stop_after is not None and len(self.shown) >= self.stop_after
