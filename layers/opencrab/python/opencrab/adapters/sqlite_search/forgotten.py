"""What the marks of forgetting keep out of an index, for good and in whatever order they come."""

from collections.abc import Iterable

from opencrab.adapters.sqlite_search.row_codec import moment
from opencrab.domain.erasure.request import Mark
from opencrab.domain.memory.search_row import Row


class Forgotten:
    """All marks that an index knows, as one question: was this row forgotten?"""

    def __init__(self, marks: Iterable[Mark] = ()) -> None:
        self._lines: dict[str, list[tuple[int, int]]] = {}
        self._refs: set[str] = set()
        self._until: int | None = None
        for mark in marks:
            self.add(mark)

    def add(self, mark: Mark) -> None:
        """Obey one more mark."""
        for lines in mark.lines:
            self._lines.setdefault(lines.session_id, []).append((lines.first, lines.last))
        self._refs.update(mark.refs)
        if mark.everything:
            self._until = max(moment(mark.at), self._until or moment(mark.at))

    def has(self, row: Row) -> bool:
        """Whether a row must not be taken in."""
        if self._until is not None and moment(row.at) <= self._until:
            return True
        if row.ref:
            return row.id in self._refs
        spans = self._lines.get(row.session_id, ())
        return any(first <= row.sequence <= last for first, last in spans)
