"""Ids of imported documents: which of them are kept, replaced, or remain erased.

An id of an archive is kept only if it could have been created here by now: copies of an index
continue after the last id they know, so that an id far in the future would hide everything after
it. All other ids are derived from the archive's id, and a restored erased document gets another
one.
"""

import hashlib
from collections.abc import Iterator
from datetime import datetime, timedelta

from opencrab.domain.erasure.request import FORGOTTEN, ErasureMark
from opencrab.domain.identifier import new_ulid, ulid_milliseconds
from opencrab.ports.clock import Clock
from opencrab.ports.documents import Documents
from opencrab.ports.paging import all_pages

_AFTER = timedelta(milliseconds=1)


class IdMap:
    """The ids of an agent's imported documents, and the agent's erasure marks."""

    def __init__(self, facts: Documents, clock: Clock, agent_id: str, *, trusted: bool) -> None:
        self._now = _milliseconds(clock.now())
        self._trusted = trusted
        self._named = dict[str, tuple[str, ErasureMark]]()
        self._everything: tuple[str, ErasureMark] | None = None
        for mark_id, mark in _marks(facts, agent_id):
            self._named.update(dict.fromkeys(mark.refs, (mark_id, mark)))
            if mark.everything:
                self._everything = mark_id, mark

    def id_and_time(
        self, kind: str, old_id: str, born: datetime, at: datetime
    ) -> tuple[str, datetime] | None:
        """Return the id and time for an indexed document; None if it remains erased.

        An erased document that a trusted archive restores gets another id, and a time after the
        mark, since every copy of an index applies the mark forever.
        """
        name = self._own(kind, old_id, born)
        while (over := self._over(f"{kind}:{name}", at)) is not None:
            if not self._trusted:
                return None
            mark_id, mark = over
            name = new_ulid(ulid_milliseconds(name) or 0, _bytes(kind, name, mark_id))
            at = max(at, mark.at + _AFTER)
        return name, at

    def is_forgotten(self, at: datetime) -> bool:
        """Check whether a document without its own id falls under an erasure of everything."""
        return not self._trusted and self._over("", at) is not None

    def _own(self, kind: str, old_id: str, born: datetime) -> str:
        milliseconds = ulid_milliseconds(old_id)
        if milliseconds is not None and milliseconds <= self._now:
            return old_id
        moment = _milliseconds(born)
        # A time that is still to come says nothing, and now would not be the same a second time.
        return new_ulid(moment if 0 <= moment <= self._now else 0, _bytes(kind, old_id))

    def _over(self, named: str, at: datetime) -> tuple[str, ErasureMark] | None:
        """Return the mark that erased a document, or None."""
        everything = self._everything
        if everything is not None and at <= everything[1].at:
            return everything
        return self._named.get(named)


def _marks(facts: Documents, agent_id: str) -> Iterator[tuple[str, ErasureMark]]:
    marks = all_pages(facts, agent_id, FORGOTTEN)
    return ((fact.id, fact.read(ErasureMark)) for fact in marks)


def _bytes(*causes: str) -> bytes:
    return hashlib.sha256("\n".join(causes).encode()).digest()


def _milliseconds(at: datetime) -> int:
    return int(at.timestamp() * 1_000)
