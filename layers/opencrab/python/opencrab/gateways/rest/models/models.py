"""Models: what this installation can think with, what it costs, and how models are named."""

from typing import Annotated

from fastapi import Query, Response
from pydantic import Field

from opencrab.domain.agents.agent import ModelName
from opencrab.domain.models.preferences import ALIASES, PRICES, AliasName, DatedPrice, ProviderName
from opencrab.domain.models.price_check import Fall
from opencrab.domain.models.routing import ModelReference
from opencrab.domain.money.budget import Price
from opencrab.domain.value import Received, Value
from opencrab.engine.models.available_models import AvailableModel, available_models
from opencrab.engine.models.preferences import (
    change_model_aliases,
    change_model_fallback,
    change_model_price_preferences,
    current_model_preferences,
    require_directory_of_models,
)
from opencrab.gateways.rest.http.access import Owner
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api
from opencrab.gateways.rest.http.etag import Edit, set_http_etag
from opencrab.gateways.rest.http.page import Page, PageQuery, http_page_of, place_in_http_cursor
from opencrab.gateways.rest.http.view import View

LISTING = "models"

router = http_routes_below("/api/llm", "models")


class ModelsQuery(PageQuery, defer_build=False):
    """The part of the models that a request asks for."""

    provider: ProviderName | None = Field(default=None, description="only models of this provider")


class ModelView(View):
    """A model; prices are in micro-dollars per million tokens, null if unknown.

    A model without a price is refused until one is set. `problem` says why it cannot be called now,
    and is empty if it can be. `listed` says whether its provider's own list has it, null without a
    list or an answer. A `free` model costs nothing.
    """

    name: str
    provider: str
    max_input_tokens: int
    max_output_tokens: int
    max_total_tokens: int | None
    price: Price | None
    functions: bool
    vision: bool
    private: bool
    free: bool
    listed: bool | None
    problem: Received
    notes: tuple[Received, ...]


class PricesPut(Value, defer_build=False):
    """Prices to store, by `provider:model`; null deletes the stored prices."""

    prices: Annotated[dict[ModelName, DatedPrice | None], Field(max_length=PRICES)]
    allow_lower: bool = Field(
        default=False, description="also accept prices that fall by more than half, or to 0"
    )


class PricesView(Value):
    """The stored prices; a newer date overrides the installed list.

    Prices of config/pricing.toml can only be raised.
    """

    prices: dict[str, DatedPrice]


class TakenPricesView(PricesView):
    """The stored prices after a request; suspiciously low ones were refused.

    `refused` has each of these with the price that is kept.
    """

    refused: dict[str, Fall]


class AliasesPut(Value, defer_build=False):
    """All aliases; null resets them to the configured ones."""

    aliases: Annotated[dict[AliasName, ModelReference], Field(max_length=ALIASES)] | None


class AliasesView(Value):
    """The aliases in use, and those that agents may select for themselves."""

    aliases: dict[str, str]
    selectable: tuple[str, ...]
    configured: bool = Field(
        description="true if they are as configured, without changes at run time"
    )


class FallbackPut(Value, defer_build=False):
    """The fallback chain, first to last; null resets it to the configured one."""

    fallback: Annotated[tuple[ModelReference, ...], Field(max_length=20)] | None


class FallbackView(Value):
    """The fallback chain, first to last; `usable` are those whose provider is configured."""

    fallback: tuple[str, ...]
    usable: tuple[str, ...]
    configured: bool = Field(description="true if it is as configured, without changes at run time")


@router.get("/models")
def list_models(
    api: Api, _caller: Owner, query: Annotated[ModelsQuery, Query()]
) -> Page[ModelView]:
    """List known models, and those that providers list now, in order of their names.

    Models without a configured provider are included. Providers are asked for their lists, unless
    it was a few seconds ago; that takes 2 seconds at most, and models of a silent one are marked.
    """
    after = place_in_http_cursor(LISTING, query.cursor) or ""
    current_model_preferences(api.runtime)
    directory = require_directory_of_models(api.runtime.directory)
    found = [each for each in available_models(directory, query.provider) if each.info.name > after]
    items, cursor = http_page_of(LISTING, found, query.limit, lambda each: each.info.name)
    return Page(items=tuple(map(_model_view, items)), next_cursor=cursor)


@router.get("/prices")
def get_prices(api: Api, _caller: Owner, response: Response) -> PricesView:
    """List stored prices with their dates.

    ETag holds the version of all model settings.
    """
    stored = current_model_preferences(api.runtime)
    set_http_etag(response, stored.version)
    return PricesView(prices=stored.preferences.prices)


@router.put("/prices")
def put_prices(api: Api, _caller: Owner, body: Strict[PricesPut], edit: Edit) -> TakenPricesView:
    """Store prices of models.

    The given ones are stored and the others kept; prices older than the stored ones are ignored. A
    price of 0, or of less than half of the price in use, is refused unless `allow_lower` is true.
    """
    saved, refused = change_model_price_preferences(
        api.runtime, body.prices, allow_lower=body.allow_lower, version=edit.version
    )
    set_http_etag(edit.response, saved.version)
    return TakenPricesView(prices=saved.preferences.prices, refused=dict(refused))


@router.get("/aliases")
def get_aliases(api: Api, _caller: Owner, response: Response) -> AliasesView:
    """List model aliases.

    ETag holds the version of all model settings.
    """
    return _aliases(api, response)


@router.put("/aliases")
def put_aliases(api: Api, _caller: Owner, body: Strict[AliasesPut], edit: Edit) -> AliasesView:
    """Replace all model aliases.

    They apply from the next model call on.
    """
    change_model_aliases(api.runtime, body.aliases, version=edit.version)
    return _aliases(api, edit.response)


@router.get("/fallback")
def get_fallback(api: Api, _caller: Owner, response: Response) -> FallbackView:
    """Get the fallback chain.

    It is the models that are asked when one fails.
    """
    return _fallback(api, response)


@router.put("/fallback")
def put_fallback(api: Api, _caller: Owner, body: Strict[FallbackPut], edit: Edit) -> FallbackView:
    """Replace the fallback chain.

    It applies from the next model call on.
    """
    change_model_fallback(api.runtime, body.fallback, version=edit.version)
    return _fallback(api, edit.response)


def _model_view(each: AvailableModel) -> ModelView:
    return ModelView.of(each.info, free=each.free, listed=each.listed, problem=each.problem)


def _aliases(api: Api, response: Response) -> AliasesView:
    stored = current_model_preferences(api.runtime)
    set_http_etag(response, stored.version)
    routing, changed = api.runtime.models.routing, stored.preferences.aliases
    return AliasesView(
        aliases=routing.aliases if changed is None else changed,
        selectable=routing.selectable,
        configured=changed is None,
    )


def _fallback(api: Api, response: Response) -> FallbackView:
    stored = current_model_preferences(api.runtime)
    set_http_etag(response, stored.version)
    usable, changed = api.runtime.models.routing.fallback, stored.preferences.fallback
    return FallbackView(
        fallback=usable if changed is None else changed, usable=usable, configured=changed is None
    )
