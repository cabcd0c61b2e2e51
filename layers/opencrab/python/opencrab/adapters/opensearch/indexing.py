"""Indexing: brings agents' indexes up to date, and takes out of them what was forgotten.

Whoever is told that something changed calls this; it reads what is new from the journal and the
facts and never from the message that told it. Everything may happen twice, in parallel or in part.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from opencrab.adapters.forgotten_rows import ForgottenRows
from opencrab.adapters.opensearch.client import (
    DocumentWrite,
    NotWritten,
    OpenSearchClient,
    require_opensearch_writes,
)
from opencrab.adapters.opensearch.query_plan import kept_rows_in_opensearch
from opencrab.adapters.opensearch.schema import (
    opensearch_document_id,
    opensearch_document_of_row,
    opensearch_index_body,
    opensearch_index_made_at,
    opensearch_index_name,
    opensearch_line_id,
    opensearch_row_id,
    place_opensearch_row,
)
from opencrab.adapters.opensearch.watermark import Watermarks
from opencrab.adapters.search_indexing import update_search_index_of_each
from opencrab.adapters.search_rows import (
    LATE,
    Batch,
    ChangeHint,
    SearchRowReader,
    search_row_ref,
)
from opencrab.domain.erasure.request import COPIES_KEPT, ErasureMark
from opencrab.domain.errors import Unavailable
from opencrab.domain.memory.search_row import RowKind, SearchRow
from opencrab.ports.clock import Clock
from opencrab.ports.conversation.feed import FeedEntry


class OpenSearchIndexing:
    """`ports.memory.search.Indexing` on an OpenSearch Serverless collection.

    Writes are durable when a method returns, and searchable within a minute. Until then searches
    read new rows from the stores, except new words of changed documents.

    Args:
        stage: The installation's name, the prefix of its index names.
    """

    def __init__(
        self, client: OpenSearchClient, stage: str, past: SearchRowReader, clock: Clock
    ) -> None:
        self._client = client
        self._stage = stage
        self._past = past
        self._clock = clock

    def index_entries(self, entries: Iterable[FeedEntry]) -> None:
        """Index what the entries name.

        Raise Unavailable also for permanently rejected documents.
        """
        update_search_index_of_each(self._past.change_hints(entries), self._index)

    def catch_up(self, agent_id: str) -> None:
        self._index(agent_id, ChangeHint(), whole=True)

    def apply_erasures(self, agent_id: str) -> None:
        """Delete the documents that the agent's erasure marks name, or the whole index."""
        name = opensearch_index_name(self._stage, agent_id)
        if self._client.about(name) is not None:
            forgotten = ForgottenRows(self._past.marks(agent_id))
            self._prepared(name, forgotten)
            require_opensearch_writes(
                self._client.write(name, _deletions(forgotten.marks.values()))
            )

    def _index(self, agent_id: str, hinted: ChangeHint, *, whole: bool = False) -> None:
        name = opensearch_index_name(self._stage, agent_id)
        forgotten = ForgottenRows(self._past.marks(agent_id))
        reached = self._prepared(name, forgotten)
        run = _Run(self._client, name, reached, self._clock, forgotten)
        seen = reached.progress()
        if whole:
            seen = replace(seen, kept={}, at=None)
        run.apply_erasures(_newer(forgotten, reached))
        for batch in self._past.new_batches(agent_id, seen, *hinted.sessions):
            run.take(batch)
        changed = [(RowKind(kind), search_row_ref(kind, fact_id)) for kind, fact_id in hinted.kept]
        if whole:
            changed.extend(kept_rows_in_opensearch(self._client, name) - run.kept)
        run.reread({each: self._past.row_named(agent_id, *each) for each in changed})
        self._obey_late(agent_id, name, forgotten)
        run.finish()

    def _prepared(self, name: str, forgotten: ForgottenRows) -> Watermarks:
        """Return the index's watermarks; recreate an index that is outdated.

        Outdated are: another schema, an index from before the agent was erased whole, and one
        unused for so long that an erasure mark may have expired before the index applied it.
        """
        about = self._client.about(name)
        reached = Watermarks(self._client, name)
        since = None if about is None else opensearch_index_made_at(about)
        if since is not None and not (forgotten.until and since <= forgotten.until):
            reached.load()
            agent = reached.agent_watermark()
            if agent is None or self._clock.now() - agent.at < COPIES_KEPT:
                return reached
        if about is not None:
            self._client.drop(name)
        self._client.create(name, opensearch_index_body(self._clock.now()))
        return Watermarks(self._client, name)

    def _obey_late(self, agent_id: str, name: str, known: ForgottenRows) -> None:
        """Delete what was erased while it was being indexed.

        An erasure mark is written before anything is removed: either it is read here, or the eraser
        deletes after all of this was written.
        """
        marks = self._past.marks(agent_id)
        late = [mark for mark_id, mark in marks if mark_id not in known.marks]
        if any(mark.everything for mark in late):
            self._client.drop(name)
            raise Unavailable(
                "all data of the agent was erased concurrently", cure="index the agent again"
            )
        require_opensearch_writes(self._client.write(name, _deletions(late)))


class _Run:
    """One indexing pass; `kept` names the stored documents (not lines) that it wrote."""

    def __init__(
        self,
        client: OpenSearchClient,
        name: str,
        reached: Watermarks,
        clock: Clock,
        forgotten: ForgottenRows,
    ) -> None:
        self._client = client
        self._name = name
        self._reached = reached
        self._clock = clock
        self._forgotten = forgotten
        self._began = clock.now()
        self._last = dict(reached.progress().kept)
        self._later: list[DocumentWrite] = []
        self._held = set[str]()
        self._refused: list[NotWritten] = []
        self.kept = set[tuple[RowKind, str]]()

    def apply_erasures(self, marks: Iterable[ErasureMark]) -> None:
        """Delete the index documents that erasure marks name."""
        self._refused.extend(self._client.write(self._name, _deletions(marks)))

    def take(self, batch: Batch) -> None:
        """Index one batch; its watermark is written together with the next batch."""
        self._forgotten.add(batch.marks)
        self.kept.update((row.kind, row.ref) for row in batch.rows if row.ref)
        before = self._reached.session_watermark(batch.session_id) if batch.session_id else None
        place = before.place if before else 0
        writes = (*self._later, *self._writes(batch.rows, place))
        self._later = []
        refused = self._client.write(self._name, writes)
        self._refused.extend(refused)
        if refused:
            self._held.add(batch.session_id or batch.kind)
        elif batch.session_id and batch.session_id not in self._held:
            spoken = place + sum(row.is_spoken for row in batch.rows)
            now = self._clock.now()
            self._later.append(
                self._reached.session_document(batch.session_id, batch.last, spoken, now)
            )
        elif batch.kind and batch.kind not in self._held:
            self._last[batch.kind] = batch.last_id

    def reread(self, changed: dict[tuple[RowKind, str], SearchRow | None]) -> None:
        """Index stored documents in their present state, and delete those that are gone."""
        rows = [row for row in changed.values() if row is not None]
        gone = [each for each, row in changed.items() if row is None]
        removed = (DocumentWrite(opensearch_document_id(f"{kind}:{ref}")) for kind, ref in gone)
        writes = (*self._later, *self._writes(rows, 0), *removed)
        self._later = []
        self._refused.extend(self._client.write(self._name, writes))

    def finish(self) -> None:
        """Write the last watermarks; raise Unavailable if a document was rejected."""
        if not self._refused:
            self._later.append(
                self._reached.agent_document(self._last, self._began, self._clock.now())
            )
        self._refused.extend(self._client.write(self._name, self._later))
        require_opensearch_writes(self._refused)

    def _writes(self, rows: Iterable[SearchRow], place: int) -> Iterator[DocumentWrite]:
        """Yield index documents of rows; an erased row is left out but keeps its place number."""
        for row in rows:
            place += row.is_spoken
            if not self._forgotten.has(row):
                yield DocumentWrite(
                    opensearch_row_id(row),
                    opensearch_document_of_row(place_opensearch_row(row, place)),
                )


def _newer(forgotten: ForgottenRows, reached: Watermarks) -> list[ErasureMark]:
    """Return the erasure marks that the index may not have applied yet."""
    agent = reached.agent_watermark()
    if agent is None or agent.began is None:
        return list(forgotten.marks.values())
    since = agent.began - LATE
    return [mark for mark in forgotten.marks.values() if mark.at >= since]


def _deletions(marks: Iterable[ErasureMark]) -> Iterator[DocumentWrite]:
    """Yield deletions of what erasure marks name, whether it is indexed or not.

    The ids are computed, not searched for: a search does not see what was just written.
    """
    for mark in marks:
        yield from (DocumentWrite(opensearch_document_id(ref)) for ref in mark.refs)
        for lines in mark.lines:
            for sequence in range(lines.first, lines.last + 1):
                yield DocumentWrite(opensearch_line_id(lines.session_id, sequence))
