"""The documents of an unfinished import: each write holds only while the import takes parts."""

from datetime import datetime

from opencrab.domain.document import Document
from opencrab.domain.errors import Changed, Unavailable
from opencrab.domain.turn.due_item import DueItem
from opencrab.engine.bundle.record import AgentImport, find_agent_import, require_open_agent_import
from opencrab.ports.documents import Documents

_TRIES = 8


class DocumentsOfImport:
    """`ports.documents.Documents`, written together with the record of an import.

    A request may be slow, and its client have sent the same again and finished: what it still
    writes would replace what the agent changed since. Of each write and the end of its import one
    comes first, since both change the record; the other is told.
    """

    def __init__(self, facts: Documents, import_id: str) -> None:
        self._facts, self._import_id = facts, import_id

    def get(self, owner: str, kind: str, fact_id: str) -> Document | None:
        """Return a document, or None."""
        return self._facts.get(owner, kind, fact_id)

    def page(
        self,
        owner: str,
        kind: str,
        *,
        after: str = "",
        limit: int = 100,
        newest_first: bool = False,
    ) -> tuple[Document, ...]:
        """Return documents of one owner and kind in order of their ids."""
        return self._facts.page(owner, kind, after=after, limit=limit, newest_first=newest_first)

    def get_many(self, owner: str, *names: tuple[str, str]) -> tuple[Document, ...]:
        """Return those of the named documents that exist."""
        return self._facts.get_many(owner, *names)

    def list_due(
        self, kind: str, now: datetime, limit: int, *, part: int | None = None
    ) -> tuple[Document, ...]:
        """Return due documents of one kind."""
        return self._facts.list_due(kind, now, limit, part=part)

    def commit(self, *facts: Document, due: tuple[DueItem, ...] = ()) -> None:
        """Write documents, unless the import has ended or is ending.

        Raises what the store raises, NotFound, and Conflict for an import that is ending.
        """
        for _ in range(_TRIES):
            stored = find_agent_import(self._facts, self._import_id)
            record = stored.read(AgentImport)
            require_open_agent_import(record)
            try:
                self._facts.commit(*facts, stored.with_body(record), due=due)
            except Changed:
                if find_agent_import(self._facts, self._import_id).version == stored.version:
                    raise
            else:
                return
        raise Unavailable(f"import {self._import_id!r} is busy", cure="try again")

    def commit_soon(self, fact: Document) -> None:
        """Write one document like `commit`."""
        self.commit(fact)
