"""Sources in memory, and bundles made of them."""

import io
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from opencrab.domain.errors import Invalid
from opencrab.domain.value import Language
from opencrab.engine.bundle.found import FoundAgent
from opencrab.engine.bundle.from_source import write_found_agent
from opencrab.engine.bundle.reader import BundleReader
from opencrab.engine.bundle.sources import read_source

NOW = datetime(2026, 11, 30, tzinfo=UTC)


class Kept:
    """Files of a source; values that are no bytes are stored as JSON or as text."""

    def __init__(self, name: str, files: Mapping[str, Any], skipped: tuple[str, ...] = ()) -> None:
        self.name, self.skipped = name, skipped
        self._files = {
            each: content
            if isinstance(content, bytes)
            else (content if isinstance(content, str) else json.dumps(content)).encode()
            for each, content in files.items()
        }

    def names(self) -> tuple[str, ...]:
        """The paths of all files."""
        return tuple(sorted(self._files))

    def size(self, name: str) -> int:
        """The size of a file."""
        return len(self._files[name])

    def read(self, name: str) -> bytes:
        """A file's content."""
        if name not in self._files:
            raise Invalid("there is no such file", field="source", cure="choose another")
        return self._files[name]

    def table(self, name: str, table: str) -> list[Mapping[str, Any]]:
        """The rows of a table, as a database of JSON has them."""
        try:
            rows: list[Mapping[str, Any]] = json.loads(self._files[name]).get(table, [])
        except ValueError:
            raise Invalid("no database", field="source", cure="choose another") from None
        return rows


def read(source: str, files: Mapping[str, Any], language: Language = Language.EN) -> FoundAgent:
    """What a reader finds; the bundle of it is whole."""
    found = read_source(source, Kept("folder", files), language)
    buffer = io.BytesIO()
    write_found_agent(found, buffer, NOW)
    reader = BundleReader(buffer)
    reader.check()
    assert reader.manifest.source == found.source
    return found


def lost(found: FoundAgent) -> set[tuple[str, str]]:
    """What is lost, and why."""
    return set(found.lost)


def secret() -> str:
    """What looks like a key of a provider, put together so that no scanner finds it here."""
    return "sk-" + "ant-" + "a1B2" * 8
