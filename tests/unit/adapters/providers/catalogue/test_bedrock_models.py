"""Models of Bedrock in the price lists: found without their profile, and never too cheap."""

import pytest

from opencrab import settings
from opencrab.adapters.providers.catalogue.bedrock_models import bedrock_model_facts
from opencrab.adapters.providers.catalogue.model_facts import (
    ModelFacts,
    ModelSettings,
    catalogue_facts,
)
from opencrab.domain.money.budget import Price

FACTS = ModelFacts(
    catalogue_facts(settings.load_settings({}, {}).pricing), settings.public_prices_of_settings
)
VIRGINIA = "https://bedrock-runtime.us-east-1.amazonaws.com"
TOKYO = "https://bedrock-runtime.ap-northeast-1.amazonaws.com"


def _input_usd(model: str, url: str = VIRGINIA) -> float | None:
    price = bedrock_model_facts(FACTS, "bedrock", model, url).price
    return None if price is None else price.input_per_million / 1_000_000


@pytest.mark.parametrize(
    ("model", "usd"),
    [
        ("global.amazon.nova-2-lite-v1:0", 0.3),
        ("us.amazon.nova-2-lite-v1:0", 0.33),
        ("amazon.nova-lite-v1:0", 0.06),
        ("us.amazon.nova-lite-v1:0", 0.06),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", 3.3),
        ("anthropic.claude-sonnet-4-5-20250929-v1:0", 3.3),
        ("global.anthropic.claude-opus-4-5-20251101-v1:0", 5),
        ("us.anthropic.claude-opus-4-6-v1", 5.5),
        ("global.anthropic.claude-sonnet-4-6", 3),
        ("us.deepseek.r1-v1:0", 1.35),
        ("amazon.titan-embed-text-v2:0", 0.02),
        ("cohere.embed-multilingual-v3", 0.1),
        ("cohere.embed-english-v3", 0.1),
        ("cohere.embed-v4:0", 0.12),
        ("us.cohere.embed-v4:0", 0.12),
        ("us.unknown.model-v1:0", None),
        ("arn:aws:bedrock:us-east-1:000000000000:application-inference-profile/abc", None),
    ],
)
def test_a_model_is_found_by_its_id_or_its_profile(model: str, usd: float | None) -> None:
    assert _input_usd(model) == usd


def test_only_names_that_can_be_called_are_listed() -> None:
    listed = [name for name in FACTS.names() if name.startswith("bedrock:")]
    assert "bedrock:global.amazon.nova-2-lite-v1:0" in listed
    assert not any("regional." in name or "sonic" in name for name in listed)


def test_outside_of_the_us_a_price_is_not_taken_too_low() -> None:
    # What AWS asks in Tokyo, by its price list.
    assert (_input_usd("jp.amazon.nova-2-lite-v1:0", TOKYO) or 0) >= 0.396
    known = bedrock_model_facts(FACTS, "bedrock", "jp.amazon.nova-2-lite-v1:0", TOKYO)
    assert any("30 %" in note for note in known.notes)
    assert _input_usd("jp.anthropic.claude-sonnet-4-5-20250929-v1:0", TOKYO) == 3.3


def test_an_owners_price_is_taken_as_it_is() -> None:
    price = Price(input_per_million=7, output_per_million=9)
    own = ModelFacts({"bedrock:m": ModelSettings(price=price)}, settings.public_prices_of_settings)
    assert bedrock_model_facts(own, "bedrock", "m", TOKYO).price == price
