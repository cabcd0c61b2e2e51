"""What one call of an erasure has checked: it is read once, however many passes follow.

A line never changes once it is stored, so a line without certain words stays without them. Of
documents those are read again that were written since.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from opencrab.domain.conversation.message import Line
from opencrab.ports.erasure import StoredTextScan

if TYPE_CHECKING:
    from opencrab.domain.erasure.stored_text import StoredTextFilter


class CheckedText:
    """How far lines of sessions and documents were checked for the same words."""

    def __init__(self) -> None:
        self._words: object = None
        self._last = dict[str, int]()
        self._documents = dict[tuple[str, str], tuple[object, int, tuple[str, ...]]]()

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

    def documents_to_check(
        self, scan: StoredTextScan, owner: str, kind: str, words: "StoredTextFilter"
    ) -> Iterator[str]:
        """Yield the ids of documents that can match; later those that did, and new ones."""
        told, moment = (words.ids, words.words), scan.moment()
        checked, since, matched = self._documents.get((owner, kind), (told, 0, ()))
        if checked != told:
            since, matched = 0, ()
        new = scan.documents(owner, kind, words, since=since)
        found = tuple(dict.fromkeys((*matched, *new)))
        self._documents[owner, kind] = told, moment, found
        yield from found
