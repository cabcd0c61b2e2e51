"""Sentences of the reference that no code has, by language, from the TOML files beside this module.

A file has one table per thing, with its sentence in each language: `[name]`, `en = …`, `ja = …`.
"""

import tomllib
from functools import cache
from pathlib import Path

from opencrab.domain.value import Language

Sentences = dict[str, dict[str, str]]


@cache
def sentences(name: str) -> Sentences:
    """All sentences of one file, by the thing that they are about."""
    path = Path(__file__).with_name(f"{name}.toml")
    read: Sentences = tomllib.loads(path.read_text(encoding="utf-8"))
    return read


def sentence(name: str, about: str, language: Language) -> str:
    """What a file says of a thing; raises KeyError where it says nothing."""
    return sentences(name)[about][language.value]


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    """A Markdown table, its cells on one line each."""
    return [_row(head), _row(("---",) * len(head)), *map(_row, rows)]


def _row(cells: tuple[str, ...]) -> str:
    safe = (cell.replace("|", "\\|").replace("\n", " ") for cell in cells)
    return f"| {' | '.join(safe)} |"
