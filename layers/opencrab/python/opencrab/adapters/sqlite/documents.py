"""Facts on SQLite: a row each, by owner, kind and id; a mind lies in its agent's partition."""

import json
import logging
import threading
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from operator import itemgetter
from zlib import crc32

from opencrab.adapters.sqlite.database import Database, FeedItem, ItemRow, Place, WriteBatch
from opencrab.adapters.sqlite.due_items import sqlite_row_of_due_item
from opencrab.domain.agents.agent_state import MIND
from opencrab.domain.document import Document, unique_facts
from opencrab.domain.errors import UnreadableValue
from opencrab.domain.turn.due_item import DueItem
from opencrab.ports.conversation.feed import INDEXED_KINDS, DocumentChange
from opencrab.ports.documents import DUE_PARTS, stale_document_error

log = logging.getLogger(__name__)

MIND_KEY = "MIND"

_FLUSHED_AT_ONCE = 500
_ALL = 2**31

_UNREADABLE = "cannot read due document, skipping it: owner=%s, id=%s, kind=%s, error=%s"


class SqliteFacts:
    """`ports.documents.Documents` on one SQLite file."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._kept: dict[Place, Document] = {}
        self._keeping = threading.Lock()
        database.flush = self.flush

    def get(self, owner: str, kind: str, fact_id: str) -> Document | None:
        pk, sk = sqlite_document_key(owner, kind, fact_id)
        with self._database.read_transaction() as items:
            body = items.get(pk, sk)
        stored = None if body is None else Document.from_stored(body)
        return self._newest(stored) if self._kept and stored is not None else stored

    def page(
        self,
        owner: str,
        kind: str,
        *,
        after: str = "",
        limit: int = 100,
        newest_first: bool = False,
    ) -> tuple[Document, ...]:
        low, high = f"{kind}#", f"{kind}$"
        if after and newest_first:
            high = f"{kind}#{after}"
        elif after:
            # No id has a character as low as this one.
            low = f"{kind}#{after}!"
        with self._database.read_transaction() as items:
            rows = items.between(
                f"FACT#{owner}", low, high, limit=max(limit, 0), newest_first=newest_first
            )
        stored = tuple(Document.from_stored(body) for _, body in rows)
        return tuple(map(self._newest, stored)) if self._kept else stored

    def get_many(self, owner: str, *names: tuple[str, str]) -> tuple[Document, ...]:
        places = [sqlite_document_key(owner, kind, fact_id) for kind, fact_id in names]
        with self._database.read_transaction() as items:
            found = items.get_many(places)
        stored = tuple(Document.from_stored(found[one]) for one in places if one in found)
        return tuple(map(self._newest, stored)) if self._kept else stored

    def list_due(
        self, kind: str, now: datetime, limit: int, *, part: int | None = None
    ) -> tuple[Document, ...]:
        with self._database.read_transaction() as items:
            most = limit + len(self._kept) if part is None else _ALL
            bodies = items.query_due(_due_list(kind), now, most)
        found = map(self._newest, _readable(kind, bodies))
        due = [
            (fact.due_at, fact)
            for fact in found
            if (fact.due_at and fact.due_at <= now)
            and (part is None or crc32(fact.owner.encode()) % DUE_PARTS == part)
        ]
        return tuple(fact for _, fact in sorted(due, key=itemgetter(0))[:limit])

    def commit(self, *facts: Document, due: tuple[DueItem, ...] = ()) -> None:
        places, batch = (
            sqlite_document_places(facts),
            WriteBatch(put=[sqlite_row_of_due_item(item) for item in due]),
        )
        with self._database.write_transaction() as items:
            add_documents_to_sqlite_batch(batch, facts, items.get_many(places))
            items.write(batch)
            # Those that are kept from now on may be over what is written here.
            kept = [(each, self._kept[each]) for each in places if each in self._kept]
        if kept:
            self._drop(kept)

    def commit_soon(self, fact: Document) -> None:
        stored = self.get(*fact.key)
        # What is due earlier than the stored document says would not be found.
        if stored is None or fact.kind in INDEXED_KINDS or not _is_due_later(fact, stored):
            self.commit(fact)
            return
        if fact.version != stored.version + 1:
            raise stale_document_error(fact)
        with self._keeping:
            self._kept[sqlite_document_key(*fact.key)] = fact.replaced(version=stored.version)

    def flush(self) -> None:
        """Write all documents that are kept in memory, some in each transaction."""
        kept = list(self._kept.items())
        for start in range(0, len(kept), _FLUSHED_AT_ONCE):
            some = dict(kept[start : start + _FLUSHED_AT_ONCE])
            with self._database.write_transaction() as items:
                stored = items.get_many(list(some))
                items.write(WriteBatch(put=list(_flushed_rows(some, stored))))
            self._drop(some.items())

    def _newest(self, stored: Document) -> Document:
        """Return the document that is kept in memory over the stored one, or the stored one.

        One that is kept over another version was replaced, or replaces what was read just before.
        """
        kept = self._kept.get(sqlite_document_key(*stored.key))
        return kept if kept is not None and kept.version == stored.version else stored

    def _drop(self, kept: Iterable[tuple[Place, Document]]) -> None:
        with self._keeping:
            for place, fact in kept:
                if self._kept.get(place) is fact:
                    del self._kept[place]


def sqlite_document_places(facts: tuple[Document, ...]) -> list[Place]:
    """Return the keys of documents that one transaction writes."""
    return [sqlite_document_key(*fact.key) for fact in unique_facts(facts)]


def add_documents_to_sqlite_batch(
    batch: WriteBatch, facts: tuple[Document, ...], stored: Mapping[Place, str]
) -> None:
    """Add documents to a batch; raise Changed if another version is stored."""
    for fact in facts:
        place = sqlite_document_key(*fact.key)
        body = stored.get(place)
        # Version 0 replaces whatever there is, and is counted after it.
        version = 0 if body is None else Document.from_stored(body).version
        if fact.version and fact.version != version + 1:
            raise stale_document_error(fact)
        if fact.kind in INDEXED_KINDS:
            batch.feed.append(_feed_entry(fact))
        if fact.body is None:
            batch.removed.append(place)
            continue
        kept = fact.replaced(version=version + 1).to_stored()
        due = None if fact.due_at is None else (_due_list(fact.kind), fact.due_at)
        batch.put.append(ItemRow(*place, kept, due=due, expires_at=fact.expires_at))


def _is_due_later(fact: Document, stored: Document) -> bool:
    if fact.body is None or fact.due_at is None or stored.due_at is None:
        return False
    return fact.due_at >= stored.due_at


def _flushed_rows(kept: Mapping[Place, Document], stored: Mapping[Place, str]) -> Iterator[ItemRow]:
    for place, fact in kept.items():
        body = stored.get(place)
        if body is not None and Document.from_stored(body).version == fact.version:
            due = None if fact.due_at is None else (_due_list(fact.kind), fact.due_at)
            yield ItemRow(*place, fact.to_stored(), due=due, expires_at=fact.expires_at)


def _readable(kind: str, bodies: Iterable[str]) -> Iterator[Document]:
    """Parse documents; log and skip those that cannot be parsed, so that no sweep stops."""
    for body in bodies:
        try:
            yield Document.from_stored(body)
        except UnreadableValue as error:
            log.warning(_UNREADABLE, *_owner_and_id(body), kind, error.message)


def _owner_and_id(body: str) -> tuple[object, object]:
    """Return the owner and id of an invalid document, None where they cannot be read."""
    try:
        told = json.loads(body)
    except ValueError:
        return None, None
    return (told.get("owner"), told.get("id")) if isinstance(told, dict) else (None, None)


def _feed_entry(fact: Document) -> FeedItem:
    told = DocumentChange(owner=fact.owner, kind=fact.kind, id=fact.id, removed=fact.body is None)
    return FeedItem(None, "fact", "", None, told.to_stored(exclude_defaults=True))


def _due_list(kind: str) -> str:
    return f"fact#{kind}"


def sqlite_document_key(owner: str, kind: str, fact_id: str) -> Place:
    """Return the key of a document."""
    if kind == fact_id == MIND:
        return f"AGENT#{owner}", MIND_KEY
    return f"FACT#{owner}", f"{kind}#{fact_id}"
