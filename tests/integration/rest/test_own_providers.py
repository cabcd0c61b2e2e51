"""Providers that are added over REST: usable at once, stored for all processes, and safe."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.local_files.secrets import FileSecrets
from opencrab.adapters.providers.catalogue.configuration import (
    ModelsSettings,
    provider_catalogue_settings,
)
from opencrab.adapters.providers.registry import ProviderModels
from opencrab.bootstrap.llm import configured_llm_table
from opencrab.bootstrap.own_providers import SettingsWithOwnProviders
from opencrab.domain.models.preferences import PROVIDERS
from opencrab.settings import load_settings
from tests.integration.rest.house import House
from tests.integration.rest.test_llm_registry import Silent

KEY = "gsk-canary-0123456789"
GATE = {
    "kind": "openai",
    "base_url": "https://api.gate.test/openai/v1",
    "default_model": "llama-3.3-70b",
    "key": KEY,
}


def models_of(house: House, secrets: FileSecrets) -> ProviderModels:
    """Models as a process has them: of the settings, with what was added."""
    own = SettingsWithOwnProviders(
        lambda overrides, **more: load_settings(overrides, {}, **more), house.runtime.home.facts
    )

    def configured() -> ModelsSettings:
        found = own.load({}, secret=secrets.get)
        return provider_catalogue_settings(
            configured_llm_table(found),
            {},
            found.absent_below("llm.providers"),
            key_names=found.variables_of("api_key", "llm.providers"),
            stored_key=secrets.get,
        )

    return ProviderModels(configured, Silent, stored=house.runtime.home.preferences.get)


@pytest.fixture
def secrets(tmp_path: Path) -> FileSecrets:
    return FileSecrets(tmp_path / "secrets")


@pytest.fixture
def house(tmp_path: Path, secrets: FileSecrets) -> Iterator[House]:
    """An installation with the shipped settings and no key."""
    house = House(tmp_path / "data")
    models = models_of(house, secrets)
    house.furnish(models=models, directory=models, secrets=secrets)
    yield house
    house.close()


def provider(house: House, name: str) -> dict[str, Any] | None:
    """A provider as it is shown; None if there is none."""
    found = house.got("/llm/providers?limit=100")["items"]
    return next((one for one in found if one["name"] == name), None)


def test_a_new_provider_is_usable_at_once_and_in_other_processes(
    house: House, secrets: FileSecrets
) -> None:
    worker = models_of(house, secrets)
    assert all(each.name != "gate" for each in worker.providers())
    made = house.call("PUT", "/llm/providers/gate", GATE)
    assert made.status_code == 200, made.text
    said = made.json()
    assert (said["kind"], said["missing"], said["has_key"]) == ("openai", "", True)
    assert said["added"]
    assert said["default_model"] == "llama-3.3-70b"
    assert KEY not in json.dumps(house.got("/llm/providers?limit=100"))
    worker.refresh(house.runtime.home.preferences.get().version)
    assert worker.get("gate").info.name == "gate:llama-3.3-70b"
    agent_id = house.agent()
    body = {"models": {"conversation": "gate:other"}}
    assert house.call("PUT", f"/agents/{agent_id}/llm/config", body).status_code == 200


def test_it_is_changed_and_removed(house: House) -> None:
    house.call("PUT", "/llm/providers/gate", GATE)
    changed = house.call("PUT", "/llm/providers/gate", {"default_model": "kimi", "enabled": False})
    assert (changed.json()["default_model"], changed.json()["enabled"]) == ("kimi", False)
    assert house.call("DELETE", "/llm/providers/gate").status_code == 204
    assert provider(house, "gate") is None
    assert house.call("DELETE", "/llm/providers/gate").status_code == 404
    shipped = house.call("DELETE", "/llm/providers/openai")
    assert shipped.status_code == 422
    assert "disable it" in shipped.json()["cure"]


def test_more_providers_than_can_be_read_again_are_refused(house: House) -> None:
    local = {"kind": "openai", "base_url": "http://10.0.0.7:8000/v1"}
    for number in range(PROVIDERS):
        assert house.call("PUT", f"/llm/providers/p{number}", local).status_code == 200
    for name, body in (("more", local), ("openai", {"enabled": False})):
        refused = house.call("PUT", f"/llm/providers/{name}", body)
        assert (refused.status_code, refused.json()["field"]) == (422, "providers")
    assert provider(house, "more") is None
    assert house.call("DELETE", "/llm/providers/p0").status_code == 204
    assert house.call("PUT", "/llm/providers/more", local).status_code == 200


def test_a_change_expects_a_version_and_a_refused_one_changes_nothing(house: House) -> None:
    tag = house.call("PUT", "/llm/providers/gate", GATE).headers["etag"]

    def put(body: dict[str, Any], tag: str) -> int:
        path = "/llm/providers/gate"
        return house.call("PUT", path, body, headers={"If-Match": tag}).status_code

    assert put({"default_model": "kimi", "enabled": False}, tag) == 200
    assert put({"default_model": "stale", "kind": "ollama"}, tag) == 409
    wrong = {"default_model": "wrong", "base_url": "ftp://gate.test"}
    assert house.call("PUT", "/llm/providers/gate", wrong).status_code == 422
    shown = provider(house, "gate")
    assert shown is not None
    assert (shown["kind"], shown["default_model"], shown["enabled"]) == ("openai", "kimi", False)


def test_a_key_of_an_earlier_provider_is_not_sent_to_a_later_one(house: House) -> None:
    house.call("PUT", "/llm/providers/gate", GATE)
    house.call("DELETE", "/llm/providers/gate")
    other = {"kind": "openai", "base_url": "https://elsewhere.test/v1"}
    said = house.call("PUT", "/llm/providers/gate", other).json()
    assert said["has_key"] is False
    assert "not the one that was stored" in said["missing"]


def test_a_server_that_needs_no_key_needs_none(house: House) -> None:
    said = house.call(
        "PUT", "/llm/providers/mine", {"kind": "openai", "base_url": "http://10.0.0.7:8000/v1"}
    ).json()
    assert (said["missing"], said["private"]) == ("", True)


@pytest.mark.parametrize(
    ("name", "body", "status", "field"),
    [
        ("gate", {**GATE, "base_url": "http://api.gate.test/v1"}, 422, None),
        ("gate", {**GATE, "base_url": "https://user:secret@gate.test/v1"}, 422, None),
        ("gate", {**GATE, "base_url": "ftp://gate.test"}, 422, None),
        ("gate", {**GATE, "kind": "scripted"}, 422, "kind"),
        ("gate", {**GATE, "kind": None}, 422, "kind"),
        ("gate", {"kind": "openai"}, 422, "base_url"),
        ("gate", {"key": KEY}, 404, "name"),
        ("Groq", GATE, 422, "name"),
        ("openai", {"default_model": "gpt-x"}, 422, "default_model"),
        ("openai", {"kind": "azure"}, 422, "kind"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_stored(
    house: House, name: str, body: dict[str, Any], status: int, field: str | None
) -> None:
    answer = house.call("PUT", f"/llm/providers/{name}", body)
    assert answer.status_code == status, answer.text
    assert answer.json()["cure"]
    assert field is None or field in str(answer.json().get("field"))
    assert "secret@" not in answer.text
    assert provider(house, "gate") is None


def test_the_release_before_reads_the_preferences(house: House) -> None:
    """It knows no added provider: its part of the preferences has fields that it knows alone."""
    house.call("PUT", "/llm/providers/gate", GATE)
    stored = house.runtime.home.preferences.get().preferences
    known = {"enabled", "base_url", "private", "key_origin", "key_seal"}
    assert set(stored.model_dump(exclude_defaults=True)["providers"]["gate"]) <= known
