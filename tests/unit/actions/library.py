"""A vault for tests: Mika's notes, and calls step by step."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from opencrab.actions import Registry
from opencrab.actions.vault import edit
from opencrab.domain.agents.heartbeat import ActiveHours
from opencrab.domain.turn.action import ActionResult
from opencrab.domain.value import Language
from opencrab.ports.turn.action import Action, ActionContext
from tests.unit.actions.workroom import workroom

REGISTRY = Registry((edit.group,))
NOW = "2026-02-17T09:00:00Z"


@dataclass
class Library:
    """Mika among her notes."""

    at: ActionContext
    folder: Path

    def prepared(self, name: str, /, **arguments: Any) -> "Library":
        """After the action has read its condition, as an intent keeps it."""
        action = find(name)
        assert action.prepare is not None
        ready = action.prepare(action.arguments.model_validate(arguments), self.at)
        return Library(replace(self.at, prepared=ready), self.folder)

    def run(self, name: str, /, **arguments: Any) -> ActionResult:
        """One attempt at a call, its facts not yet committed."""
        action = find(name)
        return action.run(action.arguments.model_validate(arguments), self.at)

    def do(self, name: str, /, **arguments: Any) -> ActionResult:
        """A whole call, undisturbed, with its result committed."""
        there = self.prepared(name, **arguments) if find(name).prepare else self
        result = there.run(name, **arguments)
        if result.facts:
            self.at.reach.facts.commit(*result.facts)
        return result

    def data(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """What a call that succeeds answers."""
        result = self.do(name, **arguments)
        assert result.success, result.error
        return result.data or {}

    def error(self, name: str, /, **arguments: Any) -> str:
        """What a call that fails answers."""
        result = self.do(name, **arguments)
        assert not result.success, result.data
        return result.error or ""

    def put(self, path: str, text: str) -> None:
        """Somebody else's file."""
        self.at.reach.files.write("mika", path, text.encode())

    def text(self, path: str) -> str:
        """What a file holds."""
        return self.at.reach.files.read("mika", path)[1].decode()

    def paths(self) -> list[str]:
        """All files."""
        return [info.path for info in self.at.reach.files.list("mika")]

    def everything(self) -> dict[str, tuple[str, str]]:
        """All files, with what they hold and as which version."""
        return {
            info.path: (info.version, self.text(info.path))
            for info in self.at.reach.files.list("mika")
        }

    def changed(self, path: str, at: datetime) -> None:
        """Let a file have been changed at a moment."""
        place = self.folder / "mika/workspace" / path
        os.utime(place, (at.timestamp(), at.timestamp()))

    def live_in(self, zone: str) -> None:
        """From now on in another time zone."""
        beat = self.at.agent.heartbeat.replaced(active_hours=ActiveHours(zone=zone))
        self.at = replace(self.at, agent=self.at.agent.replaced(heartbeat=beat))

    def speak(self, language: Language) -> None:
        """From now on in another language."""
        self.at = replace(self.at, agent=self.at.agent.replaced(language=language))

    def taint(self, *, taint: bool = True) -> None:
        """Whether the turn has read foreign words."""
        self.at = replace(self.at, turn=self.at.turn.replaced(taint=taint))


def find(name: str) -> Action:
    """An action of the vault."""
    action = REGISTRY.find(name)
    assert action is not None
    return action


@contextmanager
def library(folder: Path) -> Iterator[Library]:
    """Mika's, empty."""
    with workroom(folder) as room:
        yield Library(room.at, folder)
