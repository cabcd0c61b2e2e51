"""A WebSocket client as docs/explanation/live-events.md tells it to be, and what it shows."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Client:
    """Shows lines by their numbers, and what is still being said; `read` gets a line over REST."""

    read: Callable[[int], str]
    lines: dict[int, str] = field(default_factory=dict)
    saying: dict[str, str] = field(default_factory=dict)
    runs: dict[str, str] = field(default_factory=dict)
    chunks: dict[str, str] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)

    def take(self, events: Iterable[dict[str, Any]]) -> None:
        """Show events in the order in which they came."""
        for event in events:
            self._take(event)

    def _take(self, event: dict[str, Any]) -> None:
        about: dict[str, Any] = event.get("metadata", {})
        message, run = str(event.get("messageId")), str(about.get("runId"))
        match event["type"]:
            case "TEXT_MESSAGE_START" if not self.ended & {message, run}:
                self.saying[message], self.runs[message] = "", run
            case "TEXT_MESSAGE_CONTENT" if message in self.saying:
                self.saying[message] += event["delta"]
            case "TEXT_MESSAGE_END":
                self._end(message, about.get("sequence"))
            case "TEXT_MESSAGE_CHUNK":
                self.chunks[message] = self.chunks.get(message, "") + event["delta"]
                if "sequence" in about:
                    self.lines[about["sequence"]] = self.chunks.pop(message)
            case "RUN_FINISHED" | "RUN_ERROR":
                self._over(run, event)

    def _end(self, message: str, number: int | None) -> None:
        self.ended.add(message)
        said = self.saying.pop(message, None)
        if number is not None:
            self.lines[number] = self.read(number) if said is None else said

    def _over(self, run: str, event: dict[str, Any]) -> None:
        if event.get("outcome", {}).get("type") != "interrupt":
            self.ended.add(run)
            for each in [each for each, of in self.runs.items() if of == run]:
                self.saying.pop(each, None)
