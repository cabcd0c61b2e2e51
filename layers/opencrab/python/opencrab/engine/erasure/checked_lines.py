"""The lines that one call of an erasure has checked: each is read once, however many passes follow.

A line never changes once it is stored, so a line without certain words stays without them.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from opencrab.domain.conversation.message import Line
from opencrab.ports.erasure import StoredTextScan

if TYPE_CHECKING:
    from opencrab.domain.erasure.stored_text import StoredTextFilter


class CheckedLines:
    """How far the lines of sessions were checked for the same words."""

    def __init__(self) -> None:
        self._words: object = None
        self._last = dict[str, int]()

    def lines_to_check(
        self, scan: StoredTextScan, session_ids: Iterable[str], words: "StoredTextFilter"
    ) -> Iterator[tuple[str, Line]]:
        """Yield lines that can match, with their sessions; other words begin anew."""
        told = (words.ids, words.words)
        if told != self._words:
            self._words, self._last = told, {}
        met = set[str]()
        after = {each: self._last.get(each, 0) for each in session_ids}
        for part in scan.lines(after, words):
            yield from ((part.session_id, line) for line in part.lines)
            if part.lines:
                met.add(part.session_id)
            if part.session_id not in met:
                self._last[part.session_id] = part.last
