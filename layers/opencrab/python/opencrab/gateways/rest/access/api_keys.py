"""API keys: list, make and revoke them; a secret is shown once, to whoever asked for it."""

from datetime import datetime

from fastapi import Response
from pydantic import Field

from opencrab.domain.access.authority import Scope
from opencrab.domain.errors import Conflict
from opencrab.domain.value import Name, Value
from opencrab.engine.access.api_keys import create_api_key
from opencrab.gateways.rest.http.access import Owner
from opencrab.gateways.rest.http.body import Strict, routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.idempotency import Repeatable
from opencrab.gateways.rest.http.page import Page, Paged, page_list
from opencrab.gateways.rest.http.view import View

LISTING = "keys"

router = routes_below("/api/keys", "keys")


class NewKey(Value, defer_build=False):
    """A key to create."""

    name: Name
    scope: Scope = Scope.CHAT


class KeyView(View):
    """A key without its secret."""

    id: str
    name: str
    scope: Scope
    created_at: datetime
    revoked_at: datetime | None


class NewKeyView(KeyView):
    """A new key; its secret is in the first response only, null in a repeated one."""

    secret: str | None = Field(description="shown only once; keep it safe")


@router.get("")
def list_keys(api: Api, _caller: Owner, query: Paged) -> Page[KeyView]:
    """List API keys, oldest first, revoked ones too."""
    items, cursor = page_list(LISTING, query, api.runtime.home.keys.list, lambda key: key.id)
    return Page(items=tuple(map(KeyView.of, items)), next_cursor=cursor)


@router.post(
    "",
    status_code=201,
    response_model=NewKeyView,
    operation_id="create_key",
)
def create(api: Api, _caller: Owner, once: Repeatable, body: Strict[NewKey]) -> Response:
    """Create an API key; the secret is shown once."""

    def make() -> NewKeyView:
        secret, key = create_api_key(api.runtime, name=body.name, scope=body.scope)
        return NewKeyView.of(key, secret=secret)

    return once.answer(
        body,
        make,
        status=201,
        again=_unknown_outcome,
        remembered=lambda made: made.replaced(secret=None),
    )


@router.delete("/{key_id}")
def revoke_key(api: Api, _caller: Owner, key_id: Id) -> KeyView:
    """Revoke an API key permanently and at once; the last owner key cannot be revoked."""
    keys = api.runtime.home.keys.list()
    owners = {key.id for key in keys if key.scope is Scope.OWNER and key.revoked_at is None}
    if owners == {key_id}:
        raise Conflict(
            "this is the last owner key; it cannot be revoked",
            field="key_id",
            cure="create another owner key first",
        )
    return KeyView.of(api.runtime.home.keys.revoke(key_id, api.runtime.clock.now()))


def _unknown_outcome() -> NewKeyView:
    raise Conflict(
        "an earlier request with this Idempotency-Key has not finished; its secret is lost if it "
        "never does",
        field="Idempotency-Key",
        cure="list the API keys, revoke the ones that you do not know, and use a new "
        "Idempotency-Key",
    )
