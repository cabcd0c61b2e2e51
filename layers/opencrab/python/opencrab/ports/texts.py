"""Texts: what a module says to people, in both languages, from the JSON that lies beside it."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path


class Texts(Mapping[str, Mapping[str, str]]):
    """Sentences by their key and then by language, read when one is first needed.

    They are those of `sentences.json` for the module `sentences.py`, or of one section of it.
    """

    def __init__(self, module: str, section: str | None = None) -> None:
        self._path = Path(module).with_suffix(".json")
        self._section = section

    def __getitem__(self, key: str) -> Mapping[str, str]:
        return _load_texts(self._path, self._section)[key]

    def __iter__(self) -> Iterator[str]:
        return iter(_load_texts(self._path, self._section))

    def __len__(self) -> int:
        return len(_load_texts(self._path, self._section))


@cache
def _load_texts(path: Path, section: str | None) -> dict[str, dict[str, str]]:
    found = json.loads(path.read_text(encoding="utf-8"))
    texts: dict[str, dict[str, str]] = found if section is None else found[section]
    return texts
