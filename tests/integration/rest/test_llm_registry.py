"""Providers over REST with the real registry: what an owner sets is what it goes by."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.local_files.secrets import FileSecrets
from opencrab.adapters.providers.catalogue.configuration import (
    ModelsSettings,
    provider_catalogue_settings,
)
from opencrab.adapters.providers.registry import ProviderModels
from opencrab.adapters.providers.transport.exchange import OpenReply, Reply
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.engine.models.preferences import change_model_provider
from tests.integration.rest.house import House, problem

KEY = "sk-KANARI-51e0"
LLM: dict[str, Any] = {
    "default_provider": "scripted",
    "default_model": "rules",
    "providers": {
        "scripted": {},
        "openai": {"kind": "openai", "base_url": "https://api.openai.com/v1"},
        "ollama": {"base_url": "http://localhost:11434", "default_model": "llama"},
    },
    "aliases": {"fast": {"provider": "openai", "model": "gpt-5-mini"}},
    "fallback": {"chain": ["ollama"]},
}


class Silent:
    """`adapters.providers.transport.Transport` that reaches nobody."""

    def send(self, url: str, **_sent: Any) -> Reply:
        raise ModelCallFailed(f"nobody is at {url}", Fault.UNREACHABLE)

    def open(self, url: str, **_sent: Any) -> AbstractContextManager[OpenReply]:
        raise ModelCallFailed(f"nobody is at {url}", Fault.UNREACHABLE)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """An installation with the real registry, whose keys lie in a file."""
    house = House(tmp_path / "data")
    secrets = FileSecrets(tmp_path / "secrets")

    def configured() -> ModelsSettings:
        return provider_catalogue_settings(LLM, {}, stored_key=secrets.get)

    models = ProviderModels(configured, Silent, stored=house.runtime.home.preferences.get)
    house.furnish(models=models, directory=models, secrets=secrets)
    yield house
    house.close()


def provider(house: House, name: str) -> dict[str, Any]:
    """A provider as it is shown."""
    found = house.got("/llm/providers")["items"]
    return next(one for one in found if one["name"] == name)


def test_a_key_makes_a_provider_ready_at_once(house: House) -> None:
    assert provider(house, "openai")["missing"] == "OPENAI_API_KEY"
    changed = house.call("PUT", "/llm/providers/openai", {"key": KEY})
    assert (changed.json()["has_key"], changed.json()["missing"]) == (True, "")
    assert provider(house, "openai")["has_key"] is True
    assert KEY not in json.dumps(house.got("/llm/providers"))
    agent_id = house.agent()
    body = {"models": {"thinking": "fast"}}
    found = house.call("PUT", f"/agents/{agent_id}/llm/config", body).json()
    assert found["effective"]["thinking"] == {
        "model": "openai:gpt-5-mini",
        "by": "permanent",
        "problem": "",
        "learned": {},
        "sampling": dict.fromkeys(
            ("temperature", "top_p", "max_output_tokens", "reasoning_effort"), None
        ),
    }


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest/meta-data",
        "http://example.com/v1",
        "https://user:pass@example.com",
        "file:///etc/passwd",
        "nonsense",
        "",
    ],
)
def test_an_unsafe_address_is_refused(house: House, url: str) -> None:
    answer = house.call("PUT", "/llm/providers/openai", {"base_url": url, "key": KEY})
    cure = str(problem(answer, 422, "base_url")["cure"])
    assert cure
    assert "[llm." not in cure
    assert provider(house, "openai")["has_key"] is False
    assert house.runtime.home.preferences.get().version == 0


def test_a_provider_that_is_switched_off_is_not_asked(house: House) -> None:
    house.call("PUT", "/llm/providers/openai", {"key": KEY, "enabled": False})
    answer = house.call("PUT", f"/agents/{house.agent()}", {"name": "x", "model": "openai:gpt"})
    assert "opencrab models providers" in str(problem(answer, 422, "model")["cure"])


@pytest.mark.parametrize("name", ["scripted", "openai"])
def test_a_provider_that_is_switched_off_is_not_well(house: House, name: str) -> None:
    house.call("PUT", f"/llm/providers/{name}", {"enabled": False})
    found = house.got(f"/llm/providers/{name}/health")
    assert (found["ok"], found["models"]) == (False, None)
    assert "disabled" in found["problem"]
    assert "opencrab models providers" in found["cure"]


@pytest.mark.parametrize("aliases", [{"a": "a"}, {"a": "b", "b": "a"}, {"a": "nobody:x"}])
def test_aliases_that_lead_nowhere_are_refused(house: House, aliases: dict[str, str]) -> None:
    problem(house.call("PUT", "/llm/aliases", {"aliases": aliases}), 422, "aliases.a")
    assert set(house.got("/llm/aliases")["aliases"]) == {"fast"}


def test_aliases_and_who_is_asked_next_count_at_once(house: House) -> None:
    wanted = {"quick": "ollama:qwen3"}
    assert house.call("PUT", "/llm/aliases", {"aliases": wanted}).json()["aliases"] == wanted
    chain = {"fallback": ["quick", "openai:gpt-5", "scripted"]}
    changed = house.call("PUT", "/llm/fallback", chain).json()
    assert (changed["fallback"], changed["usable"]) == (chain["fallback"], ["quick", "scripted"])
    assert house.runtime.models.routing.fallback == ("quick", "scripted")


def test_a_price_makes_a_model_usable(house: House) -> None:
    house.call("PUT", "/llm/providers/openai", {"key": KEY})
    price = {"input_per_million": 1_000_000, "output_per_million": 2_000_000}
    prices = {"openai:new-model": {"price": price, "as_of": "2026-02-17"}}
    assert house.call("PUT", "/llm/prices", {"prices": prices}).status_code == 200
    model = house.runtime.models.get("openai:new-model")
    assert model.info.price is not None
    assert model.info.price.output_per_million == 2_000_000


def test_a_provider_that_is_not_reached_is_not_well(house: House) -> None:
    found = house.got("/llm/providers/ollama/health")
    assert (found["ok"], found["models"]) == (False, None)
    assert found["problem"]


def test_the_health_of_a_provider_without_a_key_is_told_without_asking(house: House) -> None:
    found = house.got("/llm/providers/openai/health")
    assert (found["ok"], found["models"]) == (False, None)
    assert "OPENAI_API_KEY" in found["problem"] + found["cure"]
    assert house.got("/llm/providers/scripted/health")["ok"] is True


def test_a_price_of_a_provider_without_a_key_does_not_fall_far_either(house: House) -> None:
    price = {"input_per_million": 1_000_000, "output_per_million": 2_000_000}
    body = {"prices": {"openai:later": {"price": price, "as_of": "2026-02-17"}}}
    assert house.call("PUT", "/llm/prices", body).json()["refused"] == {}
    body["prices"]["openai:later"]["price"] = {"input_per_million": 0, "output_per_million": 0}
    assert set(house.call("PUT", "/llm/prices", body).json()["refused"]) == {"openai:later"}


def test_owners_who_give_keys_at_once_do_not_disturb_each_other(house: House) -> None:
    def give(number: int) -> int:
        key, changes = f"{KEY}{number}", {"private": bool(number % 2)}
        return change_model_provider(house.runtime, "openai", changes, key=key).version

    with ThreadPoolExecutor(6) as owners:
        assert len(list(owners.map(give, range(12)))) == 12
    assert house.runtime.home.preferences.get().version > 12
    assert (provider(house, "openai")["has_key"], provider(house, "openai")["missing"]) == (
        True,
        "",
    )
