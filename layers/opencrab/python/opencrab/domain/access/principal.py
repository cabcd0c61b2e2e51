"""Principals and API keys: who calls, what the key may do, kept only as a hash."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, ClassVar

from pydantic import Field, StringConstraints

from opencrab.domain.access.authority import Scope
from opencrab.domain.errors import Conflict, NotFound, Refused
from opencrab.domain.value import Identifier, Name, Value

_INCLUDES = {
    Scope.OWNER: {Scope.OWNER, Scope.CHAT, Scope.READ},
    Scope.CHAT: {Scope.CHAT, Scope.READ},
    Scope.READ: {Scope.READ},
}


ALL, METRICS, LEGACY = "all", "metrics", "legacy"
"""Grants of read keys: `legacy` is that of keys made before grants, all but metrics."""

MOST_GRANTS = 20

ReadGrant = Annotated[
    str, StringConstraints(pattern=r"^(all|metrics|(sessions|agent):[A-Za-z0-9_\-]{1,64})$")
]
"""What a read key may see: `sessions:ID`, `agent:ID`, `metrics` or `all`."""

ReadGrants = Annotated[tuple[ReadGrant, ...], Field(min_length=1, max_length=MOST_GRANTS)]

ADDED_LATER = {"principal_id", "grants"}
"""Fields that earlier releases reject in a stored key, so they are stored beside it."""


class ApiKey(Value):
    """A stored API key; `hash` is the SHA-256 of the secret, which is shown once and not stored.

    Without a `principal_id` the key's own id is that of its principal. Only read keys have
    `grants`.
    """

    keeps_unknown_fields: ClassVar[bool] = False

    id: Identifier
    name: Name
    scope: Scope
    hash: str
    created_at: datetime
    revoked_at: datetime | None = None
    principal_id: Identifier | None = None
    grants: ReadGrants | None = None

    @property
    def principal(self) -> "Principal":
        """The person or program that this key belongs to, with what the key allows."""
        granted = (self.grants or (LEGACY,)) if self.scope is Scope.READ else ()
        return Principal(
            id=self.principal_id or self.id,
            name=self.name,
            scope=self.scope,
            key_id=self.id,
            grants=granted,
        )


class Principal(Value):
    """A verified caller: id, name, scope and grants come from the stored key, not the request.

    A person with several keys has the same id with each; `key_id` is the key that was used.
    """

    id: Identifier
    name: Name
    scope: Scope
    key_id: str = ""
    grants: tuple[str, ...] = ()

    def require(self, scope: Scope) -> None:
        """Raise Refused unless this principal's key includes the scope."""
        if scope not in _INCLUDES[self.scope]:
            raise Refused(
                f"this needs a key with scope {scope.value!r}; yours has {self.scope.value!r}",
                cure="ask an owner for one, who makes it with "
                f"`opencrab admin keys create --name NAME --scope {scope.value}`",
            )


def key_to_revoke(keys: Iterable[ApiKey], key_id: str) -> ApiKey:
    """Return the key with this id; raises NotFound."""
    found = next((key for key in keys if key.id == key_id), None)
    if found is None:
        raise NotFound(
            f"there is no key {key_id!r}", cure="list them with `opencrab admin keys list`"
        )
    return found


def remaining_owner_key(keys: Iterable[ApiKey], revoked: ApiKey) -> ApiKey | None:
    """Return an owner key that stays valid without the revoked one; None if none is needed.

    Raises Conflict if the revoked one is the last.
    """
    if revoked.scope is not Scope.OWNER or revoked.revoked_at is not None:
        return None
    for key in keys:
        if key.scope is Scope.OWNER and key.revoked_at is None and key.id != revoked.id:
            return key
    raise Conflict(
        "this is the last owner key; it cannot be revoked",
        field="key_id",
        cure="create another owner key first",
    )
