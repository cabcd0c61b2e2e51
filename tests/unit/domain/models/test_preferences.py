"""Preferences: what an owner may change, and that all of it can be stored."""

from datetime import date
from typing import Any

import pytest
from pydantic import ValidationError

from opencrab.domain.errors import Invalid
from opencrab.domain.models.preferences import (
    ALIASES,
    DOCUMENT_BYTES,
    PRICES,
    DatedPrice,
    Preferences,
    ProviderChange,
)
from opencrab.domain.money.budget import Price

PRICED = DatedPrice(price=Price(input_per_million=1, output_per_million=2), as_of=date(2026, 2, 17))


def read(preferences: Preferences) -> Preferences:
    return Preferences.model_validate_json(preferences.document())


def test_what_nobody_changed_takes_no_room() -> None:
    assert Preferences().document() == "{}"


def test_a_document_comes_back_as_it_was() -> None:
    full = Preferences(
        aliases={"smart": "anthropic:claude", "local": "ollama"},
        fallback=("smart", "openai:gpt"),
        providers={"vllm": ProviderChange(base_url="http://127.0.0.1/社内", private=False)},
        prices={"openrouter:某社/モデル": PRICED},
    )
    assert read(full) == full
    assert "社内" in full.document(), "no escapes: they would take more room"


def test_none_and_nothing_are_two_choices() -> None:
    for one in (Preferences(), Preferences(aliases={}), Preferences(fallback=())):
        assert read(one) == one


def test_prices_of_two_thousand_models_fit() -> None:
    many = Preferences(prices={f"openrouter:maker/model-{n:04d}": PRICED for n in range(PRICES)})
    assert len(many.document()) < DOCUMENT_BYTES


def test_more_than_a_store_takes_is_refused_naming_it() -> None:
    vast = Preferences(prices={f"{n:04d}{'長い名前' * 60}": PRICED for n in range(PRICES)})
    with pytest.raises(Invalid, match="preferences have") as refusal:
        vast.document()
    assert refusal.value.field == "preferences"
    assert refusal.value.cure


@pytest.mark.parametrize(
    "wrong",
    [
        {"aliases": {"Smart": "openai"}},
        {"aliases": {"賢い": "openai"}},
        {"aliases": {"a" * 41: "openai"}},
        {"aliases": {"smart": "openai:a b"}},
        {"aliases": {"smart": "half \ud83e"}},
        {"aliases": {f"a{n}": "openai" for n in range(ALIASES + 1)}},
        {"fallback": ["openai"] * 21},
        {"fallback": "openai"},
        {"providers": {"open ai": {}}},
        {"providers": {"openai": {"key": "sk-x"}}},
        {"providers": {"openai": {"base_url": "http://x\x00"}}},
        {"prices": {"openai:gpt": {"price": {"input_per_million": -1}, "as_of": "2026-02-17"}}},
        {"prices": {"half \ud83e": PRICED}},
        {"prices": {"": PRICED}},
        {"prices": {"x" * 265: PRICED}},
        {"unknown": 1},
    ],
)
def test_what_means_nothing_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Preferences.model_validate(wrong)


def test_a_document_that_is_none_is_told_without_its_content() -> None:
    with pytest.raises(Invalid, match="cannot be read") as caught:
        Preferences.read({"aliases": "secret-words", "unknown": 1})
    assert "secret-words" not in str(vars(caught.value))
