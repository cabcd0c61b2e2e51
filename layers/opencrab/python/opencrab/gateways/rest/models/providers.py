"""Providers: who answers model calls, how they are set up, and whether they answer now.

A key comes in and never goes out again: no answer, error or log has it.
"""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Path, Response
from pydantic import Field, StringConstraints

from opencrab.domain.errors import Invalid, NotFound
from opencrab.domain.models.own_provider import OwnProvider, OwnProviderKind
from opencrab.domain.models.preferences import ProviderChange, ProviderName
from opencrab.domain.value import Received, ShortText, Value
from opencrab.engine.models.own_provider_document import own_model_providers
from opencrab.engine.models.own_providers import (
    add_model_provider,
    change_own_model_provider,
    remove_model_provider,
)
from opencrab.engine.models.preferences import (
    change_model_provider,
    current_model_preferences,
    require_directory_of_models,
)
from opencrab.gateways.rest.http.access import Owner
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api
from opencrab.gateways.rest.http.etag import Edit, set_http_etag
from opencrab.gateways.rest.http.page import Page, Paged, http_page_of, place_in_http_cursor
from opencrab.gateways.rest.http.view import View
from opencrab.ports.models.preferences import StoredPreferences
from opencrab.ports.models.readiness import ProviderState

LISTING = "providers"
HEALTH_SECONDS = 5.0
READY_SECONDS, FRESH_SECONDS = 2.0, 3.0

router = http_routes_below("/api/llm/providers", "models")

Named = Annotated[ProviderName, Path()]
Key = Annotated[str, StringConstraints(pattern=r"^[!-~]*$", max_length=8_192)]
"""What fits into a header of a request."""


class ProviderView(View):
    """A provider; `missing` is what it lacks, and empty if it can be used.

    `ready` is true if it answered just now or some seconds ago, else `problem` and `cure` say why
    not. Both are empty if something is missing. `added` is true if it was added with PUT, and can
    be removed.
    """

    name: str
    kind: str
    base_url: str
    enabled: bool
    private: bool
    has_key: bool
    missing: str
    default_model: str
    ready: bool
    problem: Received
    cure: Received
    added: bool


class ProviderPut(Value, defer_build=False):
    """Changes to a provider, or a new one; fields that are left out stay.

    null resets a field to the configured value, but leaves the key as it is. A key is sent only to
    the address for which it was given: if you change the address, give the key again. A name that
    no provider has, with `kind` and `base_url`, adds one; only those that were added so have
    `default_model` and `kind` here.
    """

    kind: OwnProviderKind | None = None
    default_model: ShortText | None = None

    enabled: bool | None = None
    base_url: ShortText | None = None
    private: bool | None = Field(
        default=None, description="true if requests to it never leave your own machines"
    )
    key: Key | None = Field(
        default=None,
        repr=False,
        description="stored as a secret and never shown again; empty if a new address needs none",
    )

    def changes(self) -> dict[str, Any]:
        """Return the fields that change of any provider, except the key."""
        named = self.model_fields_set - {"key", "kind", "default_model"}
        return {name: getattr(self, name) for name in named}


class ProviderHealthView(Value):
    """The result of asking a provider.

    `models` are the ids that it lists, null if there is no list.
    """

    ok: bool
    latency_ms: int
    problem: Received
    cure: Received
    models: tuple[Received, ...] | None


@router.get("", operation_id="list_providers")
def list_providers_of_models(
    api: Api, _caller: Owner, query: Paged, response: Response
) -> Page[ProviderView]:
    """List providers in order of their names.

    Providers without a key are included, and each is asked whether it answers, unless it was a few
    seconds ago; that takes 2 seconds at most. ETag holds the version of all model settings.
    """
    after = place_in_http_cursor(LISTING, query.cursor) or ""
    set_http_etag(response, current_model_preferences(api.runtime).version)
    directory = require_directory_of_models(api.runtime.directory)
    known = sorted(directory.providers(), key=lambda state: state.name)
    found = [state for state in known if state.name > after]
    items, cursor = http_page_of(LISTING, found, query.limit, lambda state: state.name)
    return Page(items=_with_readiness(api, items), next_cursor=cursor)


@router.put("/{name}", operation_id="put_provider")
def put_provider_of_models(
    api: Api, _caller: Owner, name: Named, body: Strict[ProviderPut], edit: Edit
) -> ProviderView:
    """Change a provider's settings and key, or add a provider.

    They apply from the next model call on.
    """
    directory = require_directory_of_models(api.runtime.directory)
    current_model_preferences(api.runtime)
    is_new = all(state.name != name for state in directory.providers())
    if is_new and (body.kind is not None or body.base_url is not None):
        saved = _add(api, name, body, edit.version)
    elif body.kind is not None or body.default_model is not None:
        saved = change_own_model_provider(
            api.runtime,
            name,
            body.changes(),
            kind=body.kind,
            default_model=body.default_model,
            key=body.key,
            version=edit.version,
        )
    else:
        saved = change_model_provider(
            api.runtime, name, body.changes(), key=body.key, version=edit.version
        )
    set_http_etag(edit.response, saved.version)
    states = [state for state in directory.providers() if state.name == name]
    return _with_readiness(api, states)[0]


@router.delete("/{name}", status_code=204, operation_id="delete_provider")
def delete_provider_of_models(api: Api, _caller: Owner, name: Named, edit: Edit) -> None:
    """Remove a provider that was added with PUT.

    One of the settings can only be disabled. Its stored key is not used any more.
    """
    remove_model_provider(api.runtime, name, version=edit.version)


@router.get("/{name}/health", operation_id="provider_health")
def get_model_provider_health(api: Api, _caller: Owner, name: Named) -> ProviderHealthView:
    """Check whether a provider responds, by asking for its list of models.

    The request costs nothing and takes 5 seconds at most.
    """
    current_model_preferences(api.runtime)
    directory = require_directory_of_models(api.runtime.directory)
    if all(state.name != name for state in directory.providers()):
        raise NotFound(f"there is no provider {name!r}", field="name", cure="list the providers")
    found = directory.health(name, timeout_seconds=HEALTH_SECONDS)
    return ProviderHealthView(
        ok=found.ok,
        latency_ms=found.latency_ms,
        problem=found.problem,
        cure=found.cure,
        models=found.models,
    )


def _add(api: Api, name: str, body: ProviderPut, version: int | None) -> StoredPreferences:
    if body.kind is None or body.base_url is None:
        missing = "kind" if body.kind is None else "base_url"
        raise Invalid(
            f"there is no provider {name!r}, and a new one needs {missing}",
            field=missing,
            cure="give kind and base_url, or correct the name",
        )
    return add_model_provider(
        api.runtime,
        name,
        OwnProvider(kind=body.kind, base_url=body.base_url, default_model=body.default_model or ""),
        ProviderChange(enabled=body.enabled, private=body.private),
        key=body.key,
        version=version,
    )


def _with_readiness(api: Api, states: Sequence[ProviderState]) -> tuple[ProviderView, ...]:
    """Return the views of providers, with what they answer now."""
    directory = require_directory_of_models(api.runtime.directory)
    added = own_model_providers(api.runtime.home.facts).providers
    able = [state.name for state in states if not state.missing]
    answers = directory.readiness(
        able, wait_seconds=READY_SECONDS, newer_than_seconds=FRESH_SECONDS
    )
    views = []
    for state in states:
        found = answers.get(state.name)
        silent = "" if state.missing else f"no answer within {READY_SECONDS:g} s"
        views.append(
            ProviderView.of(
                state,
                ready=found is not None and found.ok,
                problem=silent if found is None else found.problem,
                cure="" if found is None else found.cure,
                added=state.name in added,
            )
        )
    return tuple(views)
