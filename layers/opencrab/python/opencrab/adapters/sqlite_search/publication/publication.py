"""The published snapshots of one agent's index: on which of them a copy stands, and what is next.

The newest snapshot is a whole index, or an increment upon a whole one, its base. An increment is
replaced by one that contains it as long as it is small; then the next one builds upon it, and
increments of about the same size are merged, so a new copy reads few. When they are together large
beside the base, or too old, a whole index is published again. A change is thus written again about
as often as its increments double in size, and the index once for each share by which it grows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

from opencrab.adapters.search_rows import Batch
from opencrab.adapters.sqlite_search.index import TOKENIZER
from opencrab.adapters.sqlite_search.publication.increment import (
    INCREMENT,
    EarlierIncrement,
    Increment,
    IndexChange,
    read_sqlite_search_increment,
    write_sqlite_search_increment,
)
from opencrab.ports.memory.snapshots import Snapshot, SnapshotStore

TAIL_BYTES = 16 * 1024
"""The size from which an increment is built upon instead of being replaced by a larger one."""

INCREMENT_BYTES = 64 * 1024
INCREMENT_SHARE = 8
"""Increments are together at most the first, or the base's size divided by the second."""

BASE_KEPT = timedelta(days=30)
"""The age at which a base is replaced; a bucket's rules remove old versions after twice that."""

WORDING_KEPT = timedelta(days=1)
"""How long a base may have a wording that was replaced since; erased words never wait."""


@dataclass(frozen=True)
class PublishedNews:
    """What a copy lacks of the newest snapshot.

    If `begins` it starts with the file, or empty without one; then it takes in the changes.
    """

    newest: Snapshot
    begins: bool = True
    file: Path | None = None
    changes: tuple[IndexChange, ...] = ()
    content: Increment | None = field(default=None, repr=False)


class IndexPublication:
    """An agent's snapshots as one copy of the index knows them; not thread-safe.

    `newest` is the snapshot that the copy contains, and that a publication replaces. A copy that
    was built without it `stands_alone`, and is published whole.
    """

    def __init__(
        self,
        agent_id: str,
        snapshots: SnapshotStore,
        new_file: Callable[[], Path],
        source: str = "",
    ) -> None:
        self.newest: Snapshot | None = None
        self._agent_id = agent_id
        self._snapshots = snapshots
        self._new_file = new_file
        self._source = source
        self._base: Snapshot | None = None
        self._content: Increment | None = None
        self._has_leftovers = False

    @property
    def stands_alone(self) -> bool:
        """True if no snapshot is known on which an increment could build."""
        return self._base is None

    def look(self) -> Snapshot | None:
        """Return the snapshot that is now the newest."""
        return self._snapshots.newest(self._agent_id)

    def fetch(self, newest: Snapshot) -> PublishedNews | None:
        """Return what the copy lacks of a snapshot; None if a part of it is gone or damaged."""
        if newest.tokenizer == TOKENIZER:
            file = self._file_of(newest)
            return None if file is None else PublishedNews(newest, file=file)
        content = self._read(newest) if newest.tokenizer == INCREMENT else None
        if content is None:
            return None if newest.tokenizer == INCREMENT else PublishedNews(newest)
        if content.source and self._source and content.source != self._source:
            # After a restore, line numbers are used again: this is of the table before.
            return PublishedNews(newest)
        return self._fetch_upon(newest, content)

    def stand_on(self, news: PublishedNews) -> None:
        """Record that the copy contains a snapshot and what that builds upon."""
        content = news.content
        self._set(news.newest, news.newest if content is None else content.base, content)
        self._has_leftovers = content is None

    def stand_alone(self, newest: Snapshot | None) -> None:
        """Record that the copy does without this snapshot, which its publication replaces."""
        self._set(newest, None, None)

    def remove(self) -> None:
        """Remove all snapshots of the agent."""
        self._snapshots.remove(self._agent_id)
        self.stand_alone(None)

    def publish_whole(self, file: Path, rows: int) -> bool:
        """Publish an index as the next base; False if another snapshot was published first."""
        made = self._snapshots.publish(
            self._agent_id, file, rows=rows, tokenizer=TOKENIZER, over=self.newest
        )
        if made is None:
            return False
        self._set(made, made, None)
        self._has_leftovers = True
        return True

    def publish_change(
        self, batches: Sequence[Batch], rows: int, at: datetime, *, is_reworded: bool
    ) -> bool | None:
        """Publish changes as an increment; False if another snapshot was published first.

        None, and nothing is published, if a whole index is due.
        """
        increment = self._extended(batches, at, is_reworded=is_reworded)
        if increment is None:
            return None
        file = self._new_file()
        try:
            write_sqlite_search_increment(increment, file)
            if self._is_large(increment, file.stat().st_size):
                return None
            made = self._snapshots.publish(
                self._agent_id,
                file,
                rows=rows,
                tokenizer=INCREMENT,
                over=self.newest,
                keeps=increment.keeps,
            )
        finally:
            file.unlink(missing_ok=True)
        if made is None:
            return False
        is_merged = len(increment.earlier) < len(self._earlier)
        self._set(made, increment.base, increment)
        self._has_leftovers = is_merged
        return True

    def remove_leftovers(self) -> bool:
        """Remove the snapshots before a new base; False if it is no longer the newest.

        Whoever published the base may have died before. So everybody who publishes looks once, and
        nothing is built upon a base before nothing is left behind it.
        """
        newest, content = self.newest, self._content
        # Of an increment that was not read it is not known what it needs.
        is_known = content is not None or (newest is not None and newest.tokenizer == TOKENIZER)
        if self._has_leftovers and newest is not None and is_known:
            keeps = frozenset[str]() if content is None else content.keeps
            if not self._snapshots.remove_earlier(newest, keeps):
                return False
        self._has_leftovers = False
        return True

    def _fetch_upon(self, newest: Snapshot, content: Increment) -> PublishedNews | None:
        begins = self._base != content.base
        known = 0 if begins else self._last
        changes = list[IndexChange]()
        for each in content.earlier:
            if each.last > known:
                earlier = self._read(each.snapshot)
                if earlier is None:
                    return None
                changes += earlier.changes
        changes += content.changes
        file = self._file_of(content.base) if begins else None
        if begins and file is None:
            return None
        lacking = tuple(each for each in changes if each.number > known)
        return PublishedNews(newest, begins, file, lacking, content)

    @property
    def _last(self) -> int:
        return 0 if self._content is None else self._content.last

    @property
    def _earlier(self) -> tuple[EarlierIncrement, ...]:
        return () if self._content is None else self._content.earlier

    def _set(
        self, newest: Snapshot | None, base: Snapshot | None, content: Increment | None
    ) -> None:
        if content is not None and newest is not None and newest.size > TAIL_BYTES:
            # It is built upon, and read again only to be merged.
            content = replace(content, changes=content.changes[-1:])
        self.newest, self._base, self._content = newest, base, content

    def _extended(
        self, batches: Sequence[Batch], at: datetime, *, is_reworded: bool
    ) -> Increment | None:
        """Return the increment that adds these changes; None if a whole index is due."""
        if self._base is None or self.newest is None or at > self._base.published_at + BASE_KEPT:
            return None
        reworded = None if self._content is None else self._content.replaced_at
        if reworded is not None and at > reworded + WORDING_KEPT:
            return None
        kept, merged = self._merging()
        changes = list[IndexChange]()
        for each in merged:
            content = self._read(each.snapshot)
            if content is None:
                return None
            changes += content.changes
        changes.append(IndexChange(self._last + 1, at, tuple(batches)))
        replaced_at = reworded or (at if is_reworded else None)
        return Increment(self._base, kept, tuple(changes), replaced_at, self._source)

    def _merging(self) -> tuple[tuple[EarlierIncrement, ...], tuple[EarlierIncrement, ...]]:
        """Return the increments that the next one builds upon, and those that it contains."""
        if self._content is None or self.newest is None:
            return (), ()
        every = (*self._earlier, EarlierIncrement(self.newest, self._last))
        first, size = len(every) - 1, self.newest.size
        if size > TAIL_BYTES:
            while first and every[first - 1].snapshot.size <= size:
                first -= 1
                size += every[first].snapshot.size
            if first == len(every) - 1:
                return every, ()
        return every[:first], every[first:]

    def _is_large(self, increment: Increment, size: int) -> bool:
        together = size + sum(each.snapshot.size for each in increment.earlier)
        return together > max(INCREMENT_BYTES, increment.base.size // INCREMENT_SHARE)

    def _read(self, snapshot: Snapshot) -> Increment | None:
        """Return an increment's content; None if it is gone or damaged."""
        if snapshot == self.newest and self._content is not None and snapshot.size <= TAIL_BYTES:
            return self._content
        file = self._file_of(snapshot)
        if file is None:
            return None
        try:
            return read_sqlite_search_increment(file)
        finally:
            file.unlink(missing_ok=True)

    def _file_of(self, snapshot: Snapshot) -> Path | None:
        file = self._new_file()
        if self._snapshots.fetch(snapshot, file):
            return file
        file.unlink(missing_ok=True)
        return None
