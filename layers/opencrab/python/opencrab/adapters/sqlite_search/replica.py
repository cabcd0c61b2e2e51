"""One agent's private copy of its index: where it begins, how it goes on, how it is published.

A copy begins with the newest snapshot, or empty, and reads on from the stores. When others publish
increments, it takes in those that it lacks. Whenever it cannot be trusted it begins anew: all that
it knows is in the journal and among the facts.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from opencrab.adapters.search_rows import (
    Batch,
    ChangeHint,
    IndexProgress,
    SearchRowReader,
    search_row_ref,
)
from opencrab.adapters.sqlite_search.backfill import (
    UNFINISHED,
    BackfillReader,
    index_sqlite_search_in_parts,
)
from opencrab.adapters.sqlite_search.index import DamagedIndex, Index
from opencrab.adapters.sqlite_search.ingest import TextChanges
from opencrab.adapters.sqlite_search.publication.publication import (
    IndexPublication,
    PublishedNews,
)
from opencrab.adapters.sqlite_search.publication.unpublished import (
    unpublished_sqlite_search_batches,
)
from opencrab.adapters.sqlite_search.schema import (
    translate_sqlite_search_decoding_errors,
    translate_sqlite_search_errors,
)
from opencrab.domain.erasure.request import COPIES_KEPT
from opencrab.domain.errors import Unavailable
from opencrab.domain.memory.search_row import RowKind, SearchRow
from opencrab.ports.clock import Clock
from opencrab.ports.memory.snapshots import Snapshot, SnapshotStore

LOOKS = 10
"""How often the newest snapshot is asked for while others replace it."""

_log = logging.getLogger(__name__)


class IndexReplica:
    """An agent's local copy of its index; not thread-safe.

    `new_file` returns an unused path in temporary storage. `source` names the database; a snapshot
    of another one is not used.
    """

    def __init__(
        self,
        agent_id: str,
        past: SearchRowReader,
        snapshots: SnapshotStore,
        new_file: Callable[[], Path],
        clock: Clock,
        *,
        source: str = "",
    ) -> None:
        self._agent_id = agent_id
        self._past = past
        self._publication = IndexPublication(agent_id, snapshots, new_file, source)
        self._published = IndexProgress()
        self._new_file = new_file
        self._clock = clock
        self._source = source
        self._index: Index | None = None
        self._file: Path | None = None
        self._looked_ms = 0.0
        self._is_ahead = False
        self._left_behind: tuple[str, ...] = ()

    @property
    def base(self) -> Snapshot | None:
        """The snapshot that a publication replaces: the copy contains it, or was rebuilt since."""
        return self._publication.newest

    @property
    def index(self) -> Index:
        """The index, created empty on first use."""
        if self._index is None:
            self._file = self._new_file()
            self._index = Index(self._agent_id, self._file, self._source)
        return self._index

    def refresh(self, refresh_seconds: float = 0.0) -> None:
        """Take in the newest snapshot, unless that was checked within refresh_seconds.

        An increment is added to the copy, if that stands on the same base; else the copy is
        replaced. A newer snapshot that cannot be used makes the copy start over: the snapshot may
        have contained changes that only hints named.
        """
        now_ms = self._clock.monotonic_ms()
        if self._index is not None and now_ms - self._looked_ms < refresh_seconds * 1_000:
            return
        try:
            newest, news = self._newest()
        except Unavailable as error:
            if self._index is None or not refresh_seconds:
                raise
            _log.warning(
                "cannot check for a newer search snapshot: agent_id=%s, error=%s",
                self._agent_id,
                error.message,
            )
            return
        if newest != self.base and (news is None or not self._is_added(news)):
            self._begin(None)
            self._publication.stand_alone(newest)
        self._looked_ms = now_ms

    def catch_up(self, *session_ids: str, whole: bool = False) -> None:
        """Index what is new (`SearchRowReader.new_batches`); with `whole` read everything again."""
        now, seen = self._clock.now(), self.index.progress()
        if seen.at is not None and seen.at < now - COPIES_KEPT:
            self._begin(None)
            seen = IndexProgress()
        since = replace(seen, kept={}, at=None) if whole else seen
        news = self._past.new_batches(self._agent_id, since, *session_ids, *self._left_behind)
        told = BackfillReader(news)
        changed = index_sqlite_search_in_parts(self.index, told, seen.at or UNFINISHED, now)
        if whole:
            gone = self.index.row_keys() - told.kept
            changed += sum(self._drop_gone(kind, ref) for kind, ref in gone)
        if told.mark > seen.mark:
            self.index.vacuum()
            # What is published has the erased rows in places that nobody can name.
            self._publication.stand_alone(self.base)
            changed += 1
        self._left_behind = ()
        self._is_ahead = self._is_ahead or changed > 0

    def reread(self, hinted: ChangeHint) -> None:
        """Index the present state of the documents that hints name, or remove them."""
        for kind, fact_id in hinted.kept:
            row = self._past.read_document_row(self._agent_id, kind, fact_id)
            if row is None:
                self.index.drop(RowKind(kind), search_row_ref(kind, fact_id))
            else:
                self.index.update(row)
            self._is_ahead = True

    def learn(self, teach: Callable[[Index], int]) -> int:
        """Let `teach` add data that is not from the stores; it returns how many rows it changed.

        Increments have no such data, so the index is published whole afterwards.
        """
        learnt = teach(self.index)
        if learnt:
            self._publication.stand_alone(self.base)
        self._is_ahead = self._is_ahead or learnt > 0
        return learnt

    def confirm(self, row: SearchRow) -> bool:
        """Check whether a document's row is current; update the index if not."""
        return self.index.confirm(row, self._past.reread(self._agent_id, row))

    def publish(self) -> bool:
        """Publish what the copy has and others have not; False if others published meanwhile.

        Rows that were removed leave the published files, too: then the index is published whole.
        """
        if not self._publication.remove_leftovers():
            return False
        if not self._is_ahead:
            return True
        made = self._publish_changes()
        if made is None:
            made = self._publish_whole()
        if not made:
            return False
        self._is_ahead = False
        self._stand(TextChanges())
        return self._publication.remove_leftovers()

    def remove_snapshots(self) -> None:
        """Remove all snapshots of the agent; this copy stays."""
        self._publication.remove()
        self._is_ahead = True

    def begin_anew(self) -> None:
        """Replace the copy by an empty one, which reads everything."""
        self._begin(None)

    def close(self) -> None:
        """Close and delete the copy's file."""
        if self._index is not None:
            self._index.close()
        if self._file is not None:
            self._file.unlink(missing_ok=True)
        self._index = self._file = None

    def _newest(self) -> tuple[Snapshot | None, PublishedNews | None]:
        """Return the newest snapshot, and what the copy lacks of it unless it is unusable."""
        newest = self._publication.look()
        for _ in range(LOOKS):
            if newest is None or newest == self.base:
                return newest, None
            news = self._publication.fetch(newest)
            if news is not None:
                return newest, news
            missed, newest = newest, self._publication.look()
            if newest == missed:
                _log.warning(
                    "search snapshot is damaged, rebuilding the index: agent_id=%s", self._agent_id
                )
                return newest, None
        raise Unavailable(
            f"the snapshots of agent {self._agent_id!r} change too often to be read; retries "
            "exhausted",
            cure="try again in a few seconds",
        )

    def _is_added(self, news: PublishedNews) -> bool:
        """Take in a snapshot's news; False if they, or the file that they begin with, are damaged.

        If another error is raised, the copy is incomplete, and the snapshot is taken in again.
        """
        if news.begins and not self._begin(news.file):
            return False
        try:
            self._add(news)
        except DamagedIndex as error:
            _log.warning(
                "cannot use search increment, rebuilding the index: agent_id=%s, error=%s",
                self._agent_id,
                error.message,
            )
            return False
        return True

    def _add(self, news: PublishedNews) -> None:
        """Take in published changes; what was changed here and there is read from the stores."""
        batches = [each for change in news.changes for each in change.batches]
        told = {(row.kind, row.ref) for each in batches for row in each.rows if row.ref}
        own, self.index.unpublished = self.index.unpublished or TextChanges(), None
        try:
            if news.changes:
                with (
                    translate_sqlite_search_errors(self._file),
                    translate_sqlite_search_decoding_errors(),
                ):
                    index_sqlite_search_in_parts(
                        self.index, batches, UNFINISHED, news.changes[-1].at
                    )
            self.index.unpublished = both = TextChanges()
            for kind, ref in sorted(own.documents & told):
                self._reread(kind, ref)
        except BaseException:
            self.index.unpublished = own
            raise
        own.documents -= told
        own.add(both)
        self._publication.stand_on(news)
        self._stand(own, None if news.begins else batches)

    def _stand(self, unpublished: TextChanges, batches: Sequence[Batch] | None = None) -> None:
        """Record what is published: all that the copy has, or these batches more than before."""
        self.index.unpublished = unpublished
        if batches is None:
            self._published = self.index.progress()
            return
        lines, kept = dict(self._published.lines), dict(self._published.kept)
        for each in batches:
            if each.session_id:
                lines[each.session_id] = max(each.last, lines.get(each.session_id, 0))
            elif each.kind:
                kept[each.kind] = max(each.last_id, kept.get(each.kind, ""))
        self._published = IndexProgress(lines=lines, kept=kept)

    def _publish_changes(self) -> bool | None:
        """Publish an increment; None if the index must be published whole."""
        changed = self.index.unpublished
        if changed is None or changed.is_erased or self._publication.stands_alone:
            return None
        progress = self.index.progress()
        batches = self.index.ask(
            lambda each: list(
                unpublished_sqlite_search_batches(
                    each, progress, self._published, changed.documents
                )
            )
        )
        return self._publication.publish_change(
            batches,
            self.index.rows(),
            progress.at or self._clock.now(),
            is_reworded=changed.is_reworded,
        )

    def _publish_whole(self) -> bool:
        file = self._new_file()
        try:
            self.index.save(file)
            return self._publication.publish_whole(file, self.index.rows())
        finally:
            file.unlink(missing_ok=True)

    def _begin(self, file: Path | None) -> bool:
        """Start from a fetched file if it is sound, else from an empty index; True for the file.

        Sessions that the old copy had read further are read again next time, so that no result is
        lost.
        """
        lines = self._known()
        self.close()
        self._publication.stand_alone(self.base)
        if file is not None:
            try:
                self._index = Index(self._agent_id, file, self._source)
                self._file = file
            except DamagedIndex as error:
                file.unlink(missing_ok=True)
                _log.warning(
                    "cannot use search snapshot, rebuilding the index: agent_id=%s, error=%s",
                    self._agent_id,
                    error.message,
                )
        is_sound = self._index is not None
        self._is_ahead = not is_sound
        now = self.index.progress().lines
        missed = (each for each, last in lines.items() if last > now.get(each, 0))
        self._left_behind = tuple(dict.fromkeys((*self._left_behind, *missed)))
        return is_sound

    def _known(self) -> dict[str, int]:
        try:
            return {} if self._index is None else dict(self._index.progress().lines)
        except Unavailable:
            return {}

    def _reread(self, kind: RowKind, ref: str) -> None:
        """Index a document as it is now, or remove it."""
        row = self._past.row_named(self._agent_id, kind, ref)
        if row is None:
            self.index.drop(kind, ref)
        else:
            self.index.update(row)

    def _drop_gone(self, kind: RowKind, ref: str) -> int:
        """Remove a document's row unless the document exists; return 1 if it was removed."""
        row = self._past.row_named(self._agent_id, kind, ref)
        if row is None:
            self.index.drop(kind, ref)
        return int(row is None)
