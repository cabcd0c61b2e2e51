"""The nightly update of model prices from the public list, if `llm.prices_url` is set."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opencrab.adapters.providers.transport.exchange import Transport
    from opencrab.domain.models.price_check import NewPrices
    from opencrab.domain.money.budget import Price
    from opencrab.engine.runtime import Runtime
    from opencrab.settings import Settings


def configured_nightly_price_update(
    configured: "Settings", transport: "Callable[[], Transport]"
) -> "Callable[[Runtime], int]":
    """Return a function that stores today's prices and returns how many are new.

    It does nothing and returns 0 if `llm.prices_url` is empty.
    """
    url = str(configured.get("llm.prices_url"))

    def price(runtime: "Runtime") -> int:
        if not url:
            return 0
        from opencrab.adapters.providers.catalogue.prices import newest_provider_prices
        from opencrab.engine.models.price_list import update_public_model_prices

        today = runtime.clock.now().date()

        def fetch(known: "Mapping[str, Price | None]", limits: "Mapping[str, int]") -> "NewPrices":
            return newest_provider_prices(transport(), url, known, today, limits=limits)

        return update_public_model_prices(runtime, fetch)[0]

    return price
