"""Which model answers by default, by what is set up and what runs on this computer."""

from collections.abc import Mapping
from typing import Any

import pytest

from opencrab.adapters.providers.catalogue.configuration import SCRIPTED, ModelsSettings
from opencrab.adapters.providers.catalogue.detect import LocalServer
from opencrab.adapters.providers.catalogue.model_facts import ModelSettings
from opencrab.adapters.providers.catalogue.usable_default import (
    provider_settings_with_usable_default,
)
from opencrab.domain.money.budget import FREE
from tests.unit.adapters.providers.installed import SETTINGS, address_asked, models_and_transport

FOUND = LocalServer("llamacpp", "http://localhost:8080", "tiny", input_tokens=2_048)


@pytest.mark.parametrize(
    ("changes", "server", "default"),
    [
        ({}, None, "openai:gpt-4o-mini"),
        ({}, FOUND, "openai:gpt-4o-mini"),
        ({"default": "absent:x"}, None, "openai:gpt-4o"),
        ({"default": "absent:x"}, FOUND, "llamacpp:tiny"),
        ({"default": "keyless:claude"}, FOUND, "llamacpp:tiny"),
        ({"default": "absent:x", "fallback": ("海", "ollama:x", "openai")}, None, "openai:gpt-4o"),
        ({"default": "absent:x", "fallback": ("openai",)}, FOUND, "llamacpp:tiny"),
        ({"default": "nobody:x"}, None, "openai:gpt-4o"),
        ({"providers": {}}, FOUND, "llamacpp:tiny"),
        ({"providers": {}}, None, SCRIPTED),
    ],
)
def test_the_default_is_the_best_that_can_work_here(
    changes: Mapping[str, Any], server: LocalServer | None, default: str
) -> None:
    wanted = ModelsSettings(
        default=changes.get("default", SETTINGS.default),
        providers=changes.get("providers", SETTINGS.providers),
        fallback=changes.get("fallback", ()),
    )
    settings = provider_settings_with_usable_default(wanted, server)
    assert settings.default == default
    assert models_and_transport(settings)[0].get(None).info.name == default


def test_a_server_that_was_found_gives_its_real_context() -> None:
    models, transport = models_and_transport(
        provider_settings_with_usable_default(ModelsSettings(), FOUND)
    )
    model = models.get(None)
    assert model.info.max_input_tokens == model.info.max_total_tokens == 2_048
    assert model.info.price == FREE
    assert address_asked(model, transport).startswith("http://localhost:8080/v1/")
    known = ModelsSettings(models={"llamacpp:tiny": ModelSettings(max_input_tokens=99)})
    assert (
        models_and_transport(provider_settings_with_usable_default(known, FOUND))[0]
        .get(None)
        .info.max_input_tokens
        == 99
    )
