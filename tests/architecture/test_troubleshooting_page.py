"""The pages on trouble quote the product: what they quote is what some program really says."""

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from opencrab.domain.models.fault import Fault
from tests.conftest import ROOT

TWINS = (
    ("troubleshooting.md", "troubleshooting.ja.md"),
    ("troubleshooting-operations.md", "troubleshooting-operations.ja.md"),
)
PAGES = tuple(page for twins in TWINS for page in twins)
SOURCES = (ROOT / "layers" / "opencrab" / "python" / "opencrab", ROOT / "infra")
STATUSES = {"queued", "running"}
"""Names of statuses, which no sentence has."""


def quoted(page: str) -> list[str]:
    """The messages in a page's headings."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    headings = re.findall(r"^### (.*)$", text, re.M)
    return [found for heading in headings for found in re.findall(r"`([^`]+)`", heading)]


def is_said(message: str) -> bool:
    """Whether the parts around what varies stand in one sentence of the product, in this order."""
    parts = [re.escape(part.strip()) for part in message.split("…")]
    return re.search(".*".join(parts), sentences()) is not None


@cache
def sentences() -> str:
    """Everything that the product can say, one text a line."""
    found = [text for folder in SOURCES for text in texts_below(folder)]
    assert len(found) > 5_000
    return "\n".join(" ".join(text.split()) for text in found)


def texts_below(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*.py")):
        yield from texts_of_module(path.read_text(encoding="utf-8"))
    for path in sorted(folder.rglob("*.json")):
        yield from texts_of_json(json.loads(path.read_text(encoding="utf-8")))


def texts_of_module(source: str) -> Iterator[str]:
    """Constants and formatted texts; whatever is put into one shows as a dash."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            parts = node.values
            yield "".join(str(x.value) if isinstance(x, ast.Constant) else "-" for x in parts)


def texts_of_json(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts_of_json(each)


@pytest.mark.parametrize("page", PAGES)
def test_quoted_headings_are_what_the_product_says(page: str) -> None:
    messages = set(quoted(page)) - STATUSES
    assert len(messages) >= 10
    assert not sorted(message for message in messages if not is_said(message))


@pytest.mark.parametrize("page", TWINS[0])
def test_the_table_of_failed_calls_names_faults_by_their_words(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)`[^|]*\| (`[^|]*) \|", text, re.M)
    assert len(rows) > 7
    assert {fault for fault, _ in rows} < set(Fault)
    words = [each for _, quotes in rows for each in re.findall(r"`([^`]+)`", quotes)]
    assert not [each for each in words if not is_said(each)]


@pytest.mark.parametrize("twins", TWINS)
def test_both_languages_have_the_same_sections(twins: tuple[str, str]) -> None:
    english, japanese = (
        (ROOT / "docs" / page).read_text(encoding="utf-8").count("\n##") for page in twins
    )
    assert english == japanese > 20


def test_a_message_that_nobody_says_is_found() -> None:
    assert is_said("no answer from …")
    assert not is_said("nobody ever says …")
    assert not is_said("nothing answers at … if the moon is full")
