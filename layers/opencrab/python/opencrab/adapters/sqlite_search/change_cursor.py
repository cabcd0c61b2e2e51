"""Where indexes are in the change feed of this machine, and what changed for each agent since.

The feed is read once for all agents. What it reported is kept here until the agent's index, which
records its own position, has it.
"""

import hashlib
import json
from dataclasses import dataclass
from enum import StrEnum
from threading import Lock

from opencrab.adapters.search_rows import ChangeHint, SearchRowReader
from opencrab.ports.conversation.feed import ChangeFeed, FeedEntry

_BATCH = 1_000
_DIGITS = 20
_Named = tuple[str, str, str]


class FeedCoverage(StrEnum):
    """Whether the feed still has everything after an index's position."""

    WHOLE = "whole"
    GAP = "gap"
    """Entries were deleted, or the index has no position yet: everything must be read."""
    FOREIGN = "foreign"
    """The position is of another database: the index must be built anew."""


@dataclass(frozen=True)
class FeedChanges:
    """What changed for an agent, and the position up to which that is everything."""

    coverage: FeedCoverage
    hint: ChangeHint
    position: str


class ChangeCursor:
    """A reader of the change feed for all agents of this process; thread-safe.

    A position is the number of a feed entry and a fingerprint of it, so that an index notices when
    the database was replaced by another one. Positions compare as text.
    """

    def __init__(self, feed: ChangeFeed, past: SearchRowReader) -> None:
        self._feed = feed
        self._past = past
        self._lock = Lock()
        self._pending: dict[str, dict[_Named, int]] = {}
        self._began = self._reached = feed.position()
        self._position = self._position_of(self._reached)

    def changes(self, agent_id: str, known: str, *, check: bool) -> FeedChanges:
        """Return what changed for an agent after a position that its index recorded.

        Without `check` the index was brought up to date by this process.
        """
        with self._lock:
            self._read_on()
            coverage = self._coverage(known) if check else FeedCoverage.WHOLE
            if coverage is not FeedCoverage.WHOLE:
                return FeedChanges(coverage, ChangeHint(), self._position)
            number = _number(known)
            if number < self._began:
                self._read_back(number)
            pending = self._pending.get(agent_id, {})
            for each in [each for each, at in pending.items() if at <= number]:
                del pending[each]
            return FeedChanges(coverage, _hint(pending), self._position)

    def _read_on(self) -> None:
        while entries := self._feed.read(after=self._reached, limit=_BATCH):
            self._note(entries, entries[-1].position)
            self._reached = entries[-1].position
            self._position = _position(entries[-1])

    def _read_back(self, number: int) -> None:
        """Read what was committed before this process began."""
        after = number
        while after < self._began:
            entries = self._feed.read(after=after, limit=_BATCH)
            entries = tuple(each for each in entries if each.position <= self._began)
            if not entries:
                break
            self._note(entries, entries[-1].position)
            after = entries[-1].position
        self._began = number

    def _note(self, entries: tuple[FeedEntry, ...], at: int) -> None:
        for agent_id, hint in self._past.change_hints(entries).items():
            pending = self._pending.setdefault(agent_id, {})
            named = [
                *(("session", each, "") for each in hint.sessions),
                *(("kept", kind, each) for kind, each in hint.kept),
                *(("mark", each, "") for each in hint.marks),
            ]
            for each in named:
                pending[each] = max(at, pending.get(each, 0))

    def _coverage(self, known: str) -> FeedCoverage:
        if not known:
            return FeedCoverage.GAP
        number = _number(known)
        found = self._feed.read(after=max(number - 1, 0), limit=1)
        if not found:
            # An empty feed tells nothing; one that ends before the position is another one.
            is_empty = not self._feed.position()
            return _of_empty(number) if is_empty else FeedCoverage.FOREIGN
        first = found[0]
        if first.position == number:
            is_same = known == _position(first)
            return FeedCoverage.WHOLE if is_same else FeedCoverage.FOREIGN
        return FeedCoverage.WHOLE if first.position == number + 1 else FeedCoverage.GAP

    def _position_of(self, number: int) -> str:
        found = self._feed.read(after=max(number - 1, 0), limit=1)
        return _position(found[0]) if number and found else f"{0:0{_DIGITS}}"


def _of_empty(number: int) -> FeedCoverage:
    return FeedCoverage.GAP if number else FeedCoverage.WHOLE


def _position(entry: FeedEntry) -> str:
    """Return the position of an entry; of a line, whose text may be erased, the time counts."""
    body = entry.body if entry.kind != "line" else str(json.loads(entry.body).get("at"))
    told = "\0".join((entry.kind, entry.session_id, entry.turn_id or "", body))
    return f"{entry.position:0{_DIGITS}}:{hashlib.sha256(told.encode()).hexdigest()[:16]}"


def _number(position: str) -> int:
    digits = position[:_DIGITS]
    return int(digits) if digits.isdigit() else 0


def _hint(pending: dict[_Named, int]) -> ChangeHint:
    return ChangeHint(
        sessions=tuple(each for what, each, _ in pending if what == "session"),
        kept=tuple((kind, each) for what, kind, each in pending if what == "kept"),
        marks=tuple(each for what, each, _ in pending if what == "mark"),
    )
