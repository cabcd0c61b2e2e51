"""What the marks of forgetting keep out of an index, and which documents they take out of it."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from opencrab.adapters.opensearch.client import Write
from opencrab.adapters.opensearch.schema import kept_id, line_id, micros
from opencrab.domain.erasure.request import Mark
from opencrab.domain.memory.search_row import Row


class Forgotten:
    """All marks of an agent as one question: was this row forgotten?

    `until` is the time up to which everything was.
    """

    def __init__(self, marks: Iterable[tuple[str, Mark]] = ()) -> None:
        self.marks: dict[str, Mark] = {}
        self._lines: dict[str, list[tuple[int, int]]] = {}
        self._refs: set[str] = set()
        self.until: datetime | None = None
        self.add(marks)

    def add(self, marks: Iterable[tuple[str, Mark]]) -> None:
        """Obey more marks."""
        for mark_id, mark in marks:
            self.marks[mark_id] = mark
            for lines in mark.lines:
                self._lines.setdefault(lines.session_id, []).append((lines.first, lines.last))
            self._refs.update(mark.refs)
            if mark.everything:
                self.until = max(mark.at, self.until or mark.at)

    def has(self, row: Row) -> bool:
        """Whether a row must neither be kept nor be found."""
        if self.until is not None and micros(row.at) <= micros(self.until):
            return True
        if row.ref:
            return row.id in self._refs
        spans = self._lines.get(row.session_id, ())
        return any(first <= row.sequence <= last for first, last in spans)


def deletions(marks: Iterable[Mark]) -> Iterator[Write]:
    """The documents of what marks name, whether they are there or not.

    Their ids are worked out and not looked for: a search does not see what was just written.
    """
    for mark in marks:
        yield from (Write(kept_id(ref)) for ref in mark.refs)
        for lines in mark.lines:
            for sequence in range(lines.first, lines.last + 1):
                yield Write(line_id(lines.session_id, sequence))
