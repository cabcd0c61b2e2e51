"""Models of Amazon Bedrock in the price lists, which name them without their inference profile.

The lists have the prices of US regions. Elsewhere AWS charges more for all models but Anthropic's,
by up to a fifth as far as we know; a reservation must not be too low, so such a price is raised.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from opencrab.adapters.providers.catalogue.model_facts import ModelFacts, ModelSettings
from opencrab.domain.money.budget import Price

_PROFILE = re.compile(r"(global|us-gov|us|eu|apac|jp|au|ca|sa|me|af|in)\.(?=[a-z0-9]+\.)")
_DATE = re.compile(r"-20[0-9]{6}(?=-|:|$)")
_VERSION = re.compile(r"(?:-v1)?(?::0)?$")
_US_REGION = re.compile(r"\.us-(?:east|west)-[0-9]\.")
_ELSEWHERE = Fraction(13, 10)
_NOTE = "its price is that of US regions and 30 % more, as this region's is not known"


def bedrock_model_facts(
    facts: ModelFacts, provider: str, model: str, base_url: str
) -> ModelSettings:
    """Return the known facts of a model ID or inference profile at an address."""
    own = facts.models.get(f"{provider}:{model}", ModelSettings())
    names = (f"bedrock:{each}" for each in _names_in_lists(model))
    known = facts.settings_for(f"{provider}:{model}", *names)
    is_listed = own.price is None and known.price is not None
    if not is_listed or "anthropic." in model or _US_REGION.search(base_url):
        return known
    return replace(known, price=_raise_price(known.price), notes=(*known.notes, _NOTE))


def _names_in_lists(model: str) -> Iterator[str]:
    """Yield the names under which the lists may have a model, the likeliest first."""
    profile = _PROFILE.match(model)
    bare = model[profile.end() :] if profile else model
    undated = _DATE.sub("", bare)
    root = _VERSION.sub("", undated)
    is_global = profile is not None and profile[1] == "global"
    for prefix in (*(["global."] if is_global else []), "regional.", ""):
        for name in (bare, undated, f"{root}-v1:0", root):
            yield f"{prefix}{name}"


def _raise_price(price: Price | None) -> Price | None:
    if price is None:
        return None
    raised = {
        name: int(-(-amount * _ELSEWHERE // 1)) for name, amount in price if amount is not None
    }
    return Price(**raised)
