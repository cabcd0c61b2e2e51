"""Texts: sentences for people in both languages, from the JSON file beside a module."""

import json
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any


class Texts(Mapping[str, Mapping[str, str]]):
    """Sentences by key and language, loaded on first use.

    They are those of `sentences.json` for the module `sentences.py`, or of one section of it.
    """

    def __init__(self, module: str, section: str | None = None) -> None:
        self._path = Path(module).with_suffix(".json")
        self._section = section

    def __getitem__(self, key: str) -> Mapping[str, str]:
        return self._texts[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)

    @cached_property
    def _texts(self) -> dict[str, dict[str, str]]:
        found = _load_file(self._path)
        texts: dict[str, dict[str, str]] = found if self._section is None else found[self._section]
        return texts


@cache
def _load_file(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
