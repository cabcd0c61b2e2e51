"""Documents: versioned JSON values of one owner, stored beside its journal."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, TypeVar

from pydantic import Field, StringConstraints

from opencrab.domain.value import STAMP, Identifier, Value

INSTALLATION_FACTS = "installation"
"""The owner of documents that belong to no single agent, such as open approvals."""

FACTS_AT_ONCE = 6
"""The limit of documents in one change of a turn, besides everything else in it."""

FactKind = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z_]{0,30}$")]
FactId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_\-.]{1,200}$")]

Body = TypeVar("Body", bound=Value)


class Document(Value):
    """A versioned JSON document to be stored; `body` None removes it.

    `version` is the version after the write: 1 requires that none is stored, n that n - 1 is
    stored, 0 replaces any version. Documents of one owner and kind are read in the order of their
    ids. With `due_at` a document is found by time, among those of its kind of all owners.
    """

    owner: Identifier
    kind: FactKind
    id: FactId
    version: Annotated[int, Field(ge=0)] = 1
    body: dict[str, Any] | None
    expires_at: datetime | None = None
    due_at: datetime | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """The unique key of the document: owner, kind and id."""
        return self.owner, self.kind, self.id

    def with_body(self, value: Value) -> "Document":
        """Return the next version of this document, with another body.

        Fields of a newer release stay, also if the value was not made of the one that was read.
        """
        body = value.to_stored_fields()
        if self.body and (unknown := self.body.keys() - value.__pydantic_fields__.keys()):
            body = {name: self.body[name] for name in unknown if name != STAMP} | body
        return self.replaced(body=body, version=self.version + 1)

    def with_erased_body(self, value: Value) -> "Document":
        """Return the next version with the known fields of a body only, as erasure needs."""
        body = value.model_dump(mode="json", exclude_defaults=True)
        return self.replaced(body=body, version=self.version + 1)

    def removed(self) -> "Document":
        """Return the write that removes this document."""
        return self.replaced(body=None, version=self.version + 1)

    def read(self, kind: type[Body]) -> Body:
        """Parse the body as a model class; the caller knows which."""
        return kind.from_stored(self.body or {})


def new_fact(
    owner: str, kind: str, fact_id: str, value: Value, *, expires_at: datetime | None = None
) -> Document:
    """Build the first version of a document, without storing it."""
    body = value.to_stored_fields()
    return Document(owner=owner, kind=kind, id=fact_id, body=body, expires_at=expires_at)


def unique_facts(facts: Iterable[Document]) -> tuple[Document, ...]:
    """Return the documents of one transaction; raises AssertionError if two have the same key."""
    listed = tuple(facts)
    keys = [fact.key for fact in listed]
    if len(set(keys)) < len(keys):
        raise AssertionError(f"a transaction writes the same document twice: {sorted(keys)}")
    return listed
