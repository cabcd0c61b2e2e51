"""Availability of models: what a provider's own list says, and what costs nothing."""

from collections.abc import Collection

from opencrab.domain.money.budget import Price

_UNNAMED = "default"


def model_listed_by_provider(model: str, listed: Collection[str]) -> bool:
    """Check whether a provider's list has a model.

    Ollama's names without a tag mean `:latest`; `default` is whatever a llama.cpp server runs.
    """
    spellings = {model, f"{model}:latest", f"models/{model}"}
    return model == _UNNAMED or not spellings.isdisjoint(listed)


def is_free_model_price(price: Price | None) -> bool:
    """Check whether a price is known and 0 for input and output."""
    return price is not None and not (price.input_per_million or price.output_per_million)
