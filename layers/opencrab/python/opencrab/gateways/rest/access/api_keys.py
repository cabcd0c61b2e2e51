"""API keys: list, make and revoke them; a secret is shown once, to whoever asked for it."""

from datetime import datetime
from typing import Any, Self

from fastapi import Response
from pydantic import Field

from opencrab.domain.access.authority import Scope
from opencrab.domain.access.principal import ApiKey, ReadGrants
from opencrab.domain.errors import Conflict, NotFound
from opencrab.domain.name import NewName
from opencrab.domain.value import Identifier, Value
from opencrab.engine.access.api_keys import create_api_key
from opencrab.gateways.rest.http.access import Owner, Reader
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.idempotency import Repeatable
from opencrab.gateways.rest.http.page import Page, Paged, http_page_of_list
from opencrab.gateways.rest.http.view import View

LISTING = "keys"

router = http_routes_below("/api/keys", "keys")


class NewKey(Value, defer_build=False):
    """A key to create."""

    name: NewName
    scope: Scope = Scope.CHAT
    principal_id: Identifier | None = Field(
        default=None,
        description="the principal whose key it is, to which another key belongs; by default a new "
        "one",
    )
    grants: ReadGrants | None = Field(
        default=None,
        description="what a read key may see: `sessions:ID`, `agent:ID`, `metrics` or `all`; by "
        "default `metrics`",
    )


class KeyView(View):
    """A key without its secret.

    `principal_id` is the person or program that it belongs to. Only read keys have `grants`;
    `legacy` is that of keys made before there were grants, and gives all but metrics.
    """

    id: str
    name: str
    scope: Scope
    principal_id: str
    grants: tuple[str, ...]
    created_at: datetime
    revoked_at: datetime | None

    @classmethod
    def of_key(cls, key: ApiKey, **more: Any) -> Self:
        """Convert a stored key to its view."""
        who = key.principal
        return cls.of(key, principal_id=who.id, grants=who.grants, **more)


class NewKeyView(KeyView):
    """A new key; its secret is in the first response only, null in a repeated one."""

    secret: str | None = Field(description="shown only once; keep it safe")


@router.get("")
def list_keys(api: Api, _caller: Owner, query: Paged) -> Page[KeyView]:
    """List API keys, oldest first, revoked ones too."""
    items, cursor = http_page_of_list(
        LISTING, query, api.runtime.home.keys.list, lambda key: key.id
    )
    return Page(items=tuple(map(KeyView.of_key, items)), next_cursor=cursor)


@router.get("/current")
def get_current_key(api: Api, caller: Reader) -> KeyView:
    """Get the key of this request.

    It says what its holder may do, without trying.
    """
    key = api.runtime.home.keys.find(caller.key_hash)
    if key is None:
        raise NotFound("this key no longer exists", cure="use another key")
    return KeyView.of_key(key)


@router.post(
    "",
    status_code=201,
    response_model=NewKeyView,
    operation_id="create_key",
)
def create_access_key(api: Api, _caller: Owner, once: Repeatable, body: Strict[NewKey]) -> Response:
    """Create an API key.

    The response contains its secret, which is not shown again. With `principal_id` it is another
    key of the same person, who sees the same sessions with it.
    """

    def make() -> NewKeyView:
        secret, key = create_api_key(
            api.runtime,
            name=body.name,
            scope=body.scope,
            principal_id=body.principal_id,
            grants=body.grants or (),
        )
        return NewKeyView.of_key(key, secret=secret)

    return once.answer(
        body,
        make,
        status=201,
        again=_unknown_outcome,
        remembered=lambda made: made.replaced(secret=None),
    )


@router.delete("/{key_id}")
def revoke_key(api: Api, _caller: Owner, key_id: Id) -> KeyView:
    """Revoke an API key permanently.

    It takes effect at once. The last owner key cannot be revoked.
    """
    return KeyView.of_key(api.runtime.home.keys.revoke(key_id, api.runtime.clock.now()))


def _unknown_outcome() -> NewKeyView:
    raise Conflict(
        "an earlier request with this Idempotency-Key has not finished; its secret is lost if it "
        "never does",
        field="Idempotency-Key",
        cure="list the API keys, revoke the ones that you do not know, and use a new "
        "Idempotency-Key",
    )
