"""Where documents are kept: goals, skills, memories, approvals, each with a version.

Stored keys, REST and the field of `Home` call them facts.
"""

from datetime import datetime
from typing import Protocol

from opencrab.domain.document import Document
from opencrab.domain.errors import Changed
from opencrab.domain.turn.due_item import DueItem

DUE_PARTS = 4
"""The parts of all owners, by the CRC-32 of their ids, that several may list side by side."""


class Documents(Protocol):
    """A store of documents by owner, kind and id, with strongly consistent reads.

    Turns also write documents, in a TurnChange. An expired document is removed eventually: until
    then it is found like any other. A write of version 0 replaces whatever is stored and is counted
    as the version after it.
    """

    def get(self, owner: str, kind: str, fact_id: str) -> Document | None:
        """Return a document as it is stored, or None."""

    def page(
        self,
        owner: str,
        kind: str,
        *,
        after: str = "",
        limit: int = 100,
        newest_first: bool = False,
    ) -> tuple[Document, ...]:
        """Return documents of one owner and kind in order of their ids, after (or before) an id.

        Expired ones may be among them: the caller compares `expires_at`. An agent's state is in no
        page: it is stored with its agent.
        """

    def get_many(self, owner: str, *names: tuple[str, str]) -> tuple[Document, ...]:
        """Return those of the named documents that exist, by kind and id, in one read."""

    def list_due(
        self, kind: str, now: datetime, limit: int, *, part: int | None = None
    ) -> tuple[Document, ...]:
        """Return due documents of one kind, oldest first: of all owners, or of one of DUE_PARTS.

        A document that was just written may be missing for a moment.
        """

    def commit(self, *facts: Document, due: tuple[DueItem, ...] = ()) -> None:
        """Write documents and due items in one transaction.

        Raises Changed if one of them is stored in another version than the one expected; the same
        write repeated by its transport is no conflict.
        """

    def commit_soon(self, fact: Document) -> None:
        """Write one document like `commit`, but it may be lost with the process.

        All readers see it at once. A store may keep it in memory for some minutes, with the version
        of the stored document, until another write of the document replaces it.
        """


def stale_document_error(fact: Document) -> Changed:
    """Build the Changed error for a document stored in another version than expected."""
    return Changed(
        f"{fact.kind} {fact.id!r} of {fact.owner!r} was changed concurrently",
        cure="read it again, then repeat the change",
    )
