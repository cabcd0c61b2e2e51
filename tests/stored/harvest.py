"""Collects what the package writes to its stores while tests run: real rows of every kind."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from opencrab.domain.value import Value
from tests.stored.forms import stored_kinds

MOST = 12
"""The most bodies of one kind."""

LARGEST = 4_000
"""The most bytes of one body: larger ones repeat what smaller ones show."""


class Harvest:
    """Bodies as they were written, each with a field or a kind of value that none before had."""

    def __init__(self) -> None:
        self.bodies: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        self._seen: defaultdict[str, set[str]] = defaultdict(set)

    def take(self, kind: str, body: dict[str, Any]) -> None:
        """Keep a body unless it shows nothing new."""
        shows = set(_shapes(body))
        small = len(json.dumps(body, ensure_ascii=False).encode()) <= LARGEST
        if small and len(self.bodies[kind]) < MOST and not shows <= self._seen[kind]:
            self._seen[kind] |= shows
            self.bodies[kind].append(body)


def _shapes(held: Any, place: str = "") -> Iterator[str]:
    """Where a body has what: fields, types, and words that look like members of an enumeration."""
    if isinstance(held, dict):
        for name, inner in held.items():
            # Names of free mappings, such as ids, would all be new.
            yield from _shapes(inner, f"{place}.{name if name.isidentifier() else '*'}")
    elif isinstance(held, list):
        for inner in held:
            yield from _shapes(inner, f"{place}[]")
    else:
        yield f"{place}:{type(held).__name__}"


@contextmanager
def collecting(harvest: Harvest) -> Iterator[None]:
    """Within this block every value that is written to a store is taken, too."""
    kinds = set(stored_kinds().values())
    as_text, as_fields = Value.to_stored, Value.to_stored_fields

    def to_stored(self: Value, **options: Any) -> str:
        text = as_text(self, **options)
        # What is left out of a body lies elsewhere in its row, such as in its key.
        if type(self) in kinds and not options.keys() & {"include", "exclude"}:
            harvest.take(type(self).__name__, json.loads(text))
        return text

    def to_stored_fields(self: Value) -> dict[str, Any]:
        fields = as_fields(self)
        if type(self) in kinds:
            harvest.take(type(self).__name__, json.loads(json.dumps(fields)))
        return fields

    _set(to_stored, to_stored_fields)
    try:
        yield
    finally:
        _set(as_text, as_fields)


def _set(as_text: Callable[..., str], as_fields: Callable[..., dict[str, Any]]) -> None:
    for name, method in (("to_stored", as_text), ("to_stored_fields", as_fields)):
        setattr(Value, name, method)
