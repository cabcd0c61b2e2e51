"""GET /api/settings: every setting with what sets it, for the owner, without a secret."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from opencrab.domain.access.authority import Scope
from opencrab.gateways.rest.app import offer_rest_app_settings
from opencrab.ports.installation.configuration import SettingView
from tests.integration.rest.house import House

VIEWS = [
    SettingView("web.allow", ["https://a.example.org/"], "/home/花子/config.toml:3"),
    SettingView("llm.providers.openai.api_key", "sk-KANARI", "OPENAI_API_KEY"),
    SettingView("llm.providers.mine.base_url", "https://me:KANARI@a.test/v1", "default.toml"),
    SettingView("agent.time_zone", "Asia/Tokyo", "parameter TimeZone"),
    SettingView("gateway.rest.port", 9000, "command line"),
    SettingView("budget.turn_usd", 0.5, "default.toml"),
    SettingView("llm.providers.groq.kind", "openai", "PUT /api/llm/providers"),
]


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path / "data")
    yield house
    house.close()


def test_each_setting_names_what_sets_it_and_no_secret_is_shown(house: House) -> None:
    offer_rest_app_settings(house.app, lambda: VIEWS)
    found = house.got("/settings")["settings"]
    assert [each["name"] for each in found] == sorted(each.name for each in VIEWS)
    assert {each["name"]: (each["value"], each["origin"]) for each in found} == {
        "web.allow": (["https://a.example.org/"], "file"),
        "llm.providers.openai.api_key": ("***", "environment"),
        "llm.providers.mine.base_url": ("https://***@a.test/v1", "default"),
        "agent.time_zone": ("Asia/Tokyo", "parameter"),
        "gateway.rest.port": (9000, "command_line"),
        "budget.turn_usd": (0.5, "default"),
        "llm.providers.groq.kind": ("openai", "rest"),
    }
    assert found[-1]["from"] == "/home/花子/config.toml:3"


def test_a_process_that_does_not_know_them_says_so(house: House) -> None:
    answer = house.call("GET", "/settings")
    assert (answer.status_code, answer.json()["code"]) == (404, "not-found")


def test_only_the_owner_sees_them(house: House) -> None:
    offer_rest_app_settings(house.app, lambda: VIEWS)
    key, _ = house.key(Scope.READ)
    assert house.call("GET", "/settings", key=key).status_code == 403
