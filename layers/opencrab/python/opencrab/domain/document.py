"""Facts: what is kept about one owner beside its journal, each with a version of its own."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, TypeVar

from pydantic import Field, StringConstraints

from opencrab.domain.value import Identifier, Value

INSTALLATION_FACTS = "installation"
"""The owner of what belongs to no single agent, such as open approvals."""

FACTS_AT_ONCE = 6
"""Facts that one change of a turn may write beside everything else."""

FactKind = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z_]{0,30}$")]
FactId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_\-.]{1,200}$")]

Body = TypeVar("Body", bound=Value)


class Document(Value):
    """One fact as it is to be stored; `body` None removes it.

    `version` is the one that it will have: 1 demands that there is none yet, n that n - 1 is
    stored, 0 replaces whatever there is. Facts of one owner and kind are read in their ids' order.
    With `due_at` it is found by its time, among the facts of its kind of all owners.
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
        """What no two facts have in common."""
        return self.owner, self.kind, self.id

    def holding(self, value: Value) -> "Document":
        """The next version of this fact, with another body."""
        body = value.model_dump(mode="json", exclude_defaults=True)
        return self.replaced(body=body, version=self.version + 1)

    def removed(self) -> "Document":
        """The change that removes this fact."""
        return self.replaced(body=None, version=self.version + 1)

    def read(self, kind: type[Body]) -> Body:
        """The body as the value that it is; the caller knows which."""
        return kind.model_validate(self.body)


def new_fact(
    owner: str, kind: str, fact_id: str, value: Value, *, expires_at: datetime | None = None
) -> Document:
    """The first version of a fact."""
    body = value.model_dump(mode="json", exclude_defaults=True)
    return Document(owner=owner, kind=kind, id=fact_id, body=body, expires_at=expires_at)


def unique_facts(facts: Iterable[Document]) -> tuple[Document, ...]:
    """The facts of one transaction, of which no two may be the same item."""
    listed = tuple(facts)
    if len({fact.key for fact in listed}) < len(listed):
        raise AssertionError("a transaction writes the same document twice")
    return listed
