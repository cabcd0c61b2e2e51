"""Erasure marks as an index applies them: which rows may not be indexed any more."""

from collections.abc import Iterable
from datetime import datetime

from opencrab.adapters.search_rows import search_row_microseconds
from opencrab.domain.erasure.request import ErasureMark
from opencrab.domain.memory.search_row import SearchRow


class ForgottenRows:
    """All erasure marks of an agent, to check rows against; their order does not matter.

    `until` is the time up to which everything was erased; None if that never happened.
    """

    def __init__(self, marks: Iterable[tuple[str, ErasureMark]] = ()) -> None:
        self.marks: dict[str, ErasureMark] = {}
        self._lines: dict[str, list[tuple[int, int]]] = {}
        self._refs: set[str] = set()
        self.until: datetime | None = None
        self.add(marks)

    def add(self, marks: Iterable[tuple[str, ErasureMark]]) -> None:
        """Add more erasure marks."""
        for mark_id, mark in marks:
            self.marks[mark_id] = mark
            for lines in mark.lines:
                self._lines.setdefault(lines.session_id, []).append((lines.first, lines.last))
            self._refs.update(mark.refs)
            if mark.everything:
                self.until = max(mark.at, self.until or mark.at, key=search_row_microseconds)

    def has(self, row: SearchRow) -> bool:
        """Check whether a row was erased."""
        if self.until is not None and search_row_microseconds(row.at) <= search_row_microseconds(
            self.until
        ):
            return True
        if row.ref:
            return row.id in self._refs
        spans = self._lines.get(row.session_id, ())
        return any(first <= row.sequence <= last for first, last in spans)
