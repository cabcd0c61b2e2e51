"""A default model that was chosen answers for every use that the owner does not set."""

from collections.abc import Mapping
from typing import Any

import pytest

from opencrab.bootstrap.llm import configured_llm_table
from opencrab.settings import EffectiveSetting, OwnerSettings, load_settings

USES = {"thinking", "conversation", "analysis", "tool_calling", "creative", "embedding"}


def table(own: Mapping[str, str] | None = None, **environment: str) -> dict[str, Any]:
    files = {name: EffectiveSetting(text, "/c.toml:1") for name, text in (own or {}).items()}
    return configured_llm_table(load_settings({}, environment, own=OwnerSettings(files)))


def test_what_ships_stays_where_nobody_chose() -> None:
    template = {
        "OPENCRAB_LLM__DEFAULT_PROVIDER": "openai",
        "OPENCRAB_LLM__DEFAULT_MODEL": "gpt-4o",
    }
    for found in (table(), table(None, **template)):
        assert set(found["models"]) == USES
        assert (found["default_provider"], found["default_model"]) == ("openai", "gpt-4o")
    # The template's own parameters where Bedrock has no model for everybody.
    found = table(None, **template | {"OPENCRAB_LLM__DEFAULT_MODEL": ""})
    assert set(found["models"]) == USES


@pytest.mark.parametrize(
    ("own", "environment", "default"),
    [
        ({"llm.default_model": "gpt-4o"}, {}, ("openai", "gpt-4o")),
        ({"llm.default_model": "蟹"}, {}, ("openai", "蟹")),
        ({}, {"OPENCRAB_LLM__DEFAULT_MODEL": "gpt-5-mini"}, ("openai", "gpt-5-mini")),
        ({"llm.default_provider": "anthropic"}, {}, ("anthropic", "")),
        ({}, {"OPENCRAB_LLM__DEFAULT_PROVIDER": "google"}, ("google", "")),
        (
            {"llm.default_provider": "anthropic", "llm.default_model": "claude-x"},
            {},
            ("anthropic", "claude-x"),
        ),
    ],
)
def test_a_chosen_default_takes_the_place_of_the_uses_that_ship(
    own: dict[str, str], environment: dict[str, str], default: tuple[str, str]
) -> None:
    found = table(own, **environment)
    assert (found["default_provider"], found["default_model"]) == default
    assert set(found["models"]) == {"embedding"}


def test_a_use_that_the_owner_sets_stays() -> None:
    own = {"llm.default_model": "m", "llm.models.analysis": "fast"}
    variable = {"OPENCRAB_LLM__MODELS__CREATIVE__MODEL": "claude-y"}
    found = table(own, **variable)
    assert set(found["models"]) == {"analysis", "creative", "embedding"}
    assert found["models"]["creative"] == {"provider": "anthropic", "model": "claude-y"}
