"""Which documents were stored lately, for whoever looks through all of them more than once."""

from collections import deque
from collections.abc import Iterable

from opencrab.adapters.sqlite.write_batch import Place

MOST = 4_096
"""How many are known; who asks for more looks through all documents."""


class StoredDocumentLog:
    """The places of the documents that were stored last, in order.

    `add` and `since` may be called by different threads, `add` by one at a time.
    """

    def __init__(self) -> None:
        self._places: deque[tuple[int, Place]] = deque(maxlen=MOST)
        self.moment = 1

    def add(self, places: Iterable[Place]) -> None:
        """Note documents once they are committed, before anybody learns of it."""
        for place in places:
            self._places.append((self.moment, place))
            self.moment += 1

    def since(self, moment: int) -> set[Place] | None:
        """Return the places of all that was stored after a moment; None if that is forgotten."""
        noted = self._places.copy()
        first = noted[0][0] if noted else self.moment
        return None if moment < first else {place for at, place in noted if at >= moment}
