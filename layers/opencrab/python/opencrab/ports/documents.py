"""Where facts are kept: goals, skills, memories, approvals, each with a version."""

from datetime import datetime
from typing import Protocol

from opencrab.domain.document import Document
from opencrab.domain.errors import Changed
from opencrab.domain.turn.due_item import DueItem


class Documents(Protocol):
    """Facts by owner, kind and id, read strongly consistent; turns also write them in a Change.

    A fact whose time is over is removed by and by: until then it is found like any other. A write
    of version 0 replaces whatever is stored and is counted as the version after it.
    """

    def get(self, owner: str, kind: str, fact_id: str) -> Document | None:
        """A fact as it is stored, or None."""

    def page(
        self,
        owner: str,
        kind: str,
        *,
        after: str = "",
        limit: int = 100,
        newest_first: bool = False,
    ) -> tuple[Document, ...]:
        """Facts of one owner and kind in order of their ids, after (or before) the given id.

        Expired ones may be among them: whoever minds compares `expires_at`. An agent's mind is in
        no page: it lies with its agent.
        """

    def several(self, owner: str, *names: tuple[str, str]) -> tuple[Document, ...]:
        """Those of an owner's facts that there are among some, by kind and id, in one read."""

    def due(self, kind: str, now: datetime, limit: int) -> tuple[Document, ...]:
        """Facts of one kind, whoever owns them, whose time has come, oldest first.

        A fact that was just written may be missing for a moment.
        """

    def commit(self, *facts: Document, due: tuple[DueItem, ...] = ()) -> None:
        """Write facts and due items in one transaction.

        Raises Changed when one of them is stored in another version than the one expected; the
        very same write again is not a conflict where its transport repeated it.
        """


def stale_document_error(fact: Document) -> Changed:
    """A fact is stored in another version than the one that a write expected."""
    return Changed(
        f"{fact.kind} {fact.id!r} of {fact.owner!r} was changed concurrently",
        cure="read it again and repeat the change",
    )
