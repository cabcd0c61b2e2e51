"""Marks in real texts: Wikipedia and conversations in Japanese and English have nearly none."""

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from opencrab.domain.text.visible import text_showing_hidden
from tests.bench.world import ROOT

MARKED = 1e-4
"""The share of texts that may have a mark: tabs, no-break spaces, single Greek letters."""


def texts(value: object) -> Iterator[str]:
    """All texts in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts(each)


def documents(folder: Path) -> Iterator[object]:
    """The lines of all retrieval sets."""
    for path in sorted(folder.rglob("*.jsonl*")):
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def test_ordinary_sentences_have_no_marks() -> None:
    given = os.environ.get("OPENCRAB_MEMORY_EVAL")
    path = Path(given or ROOT.parent / "shared" / "memory-eval") / "data"
    if not path.is_dir():
        pytest.skip(f"no retrieval sets in {str(path)!r}: set OPENCRAB_MEMORY_EVAL to their folder")
    found = [text for document in documents(path) for text in texts(document)]
    marked = [text for text in found if text_showing_hidden(text) != text]
    assert found
    assert len(marked) / len(found) < MARKED, marked[:20]
