"""The settings in effect: their values, where they come from, and no secret."""

import json
from typing import cast

import pytest
from typer.testing import CliRunner

from opencrab.gateways.cli.app import build_cli_app
from opencrab.gateways.cli.terminal.options import Options
from opencrab.ports.installation.configuration import Configuration, OpenConfiguration, SettingView

FACTS = [
    ("agent.max_steps", 7, "OPENCRAB_AGENT__MAX_STEPS"),
    ("llm.providers.openai.api_key", "sk-secret", "OPENAI_API_KEY"),
    ("llm.providers.own.base_url", "https://me:sk-secret@host/v1", "default.toml"),
    ("llm.providers.own.headers", {"x-api-key": "sk-secret", "x-team": "crab"}, "default.toml"),
    ("llm.providers.own.api_key", "", "default.toml"),
]


SETTINGS = [SettingView(*facts) for facts in FACTS]


class Files:
    """Settings in force that no file sets."""

    def __init__(self, *settings: SettingView) -> None:
        self._settings = settings

    def settings(self) -> tuple[SettingView, ...]:
        return self._settings


def opened(*settings: SettingView) -> OpenConfiguration:
    return lambda _places: cast("Configuration", Files(*settings))


def shown(*args: str, language: str = "en") -> tuple[int, str, str]:
    app = build_cli_app(lambda _: 0, Options(configuration=opened(*SETTINGS)))
    said = CliRunner().invoke(app, ["--language", language, "config", "show", *args])
    return said.exit_code, said.stdout, said.stderr


def test_every_setting_has_its_value_and_source_and_secrets_are_hidden() -> None:
    code, out, err = shown("--json")
    assert (code, err) == (0, "")
    values = {each["name"]: (each["value"], each["from"]) for each in json.loads(out)}
    assert values == {
        "agent.max_steps": (7, "OPENCRAB_AGENT__MAX_STEPS"),
        "llm.providers.openai.api_key": ("***", "OPENAI_API_KEY"),
        "llm.providers.own.base_url": ("https://***@host/v1", "default.toml"),
        "llm.providers.own.headers": ({"x-api-key": "***", "x-team": "crab"}, "default.toml"),
        "llm.providers.own.api_key": ("", "default.toml"),
    }
    assert "secret" not in shown()[1]


@pytest.mark.parametrize(("language", "head"), [("en", "setting"), ("ja", "設定項目")])
def test_a_section_is_a_table_in_both_languages(language: str, head: str) -> None:
    code, out, _ = shown("agent", language=language)
    assert code == 0
    assert head in out
    assert "agent.max_steps" in out
    assert "openai" not in out
    assert "openai" not in shown("agent.max", language=language)[2]


def test_a_section_that_does_not_exist_is_named() -> None:
    code, out, err = shown("nope")
    assert (code != 0, out) == (True, "")
    assert "nope" in err


@pytest.mark.parametrize(
    ("name", "value", "shown_value"),
    [
        (
            "a.base_url",
            "https://host/v1?api-key=sk-secret&v=2",
            "https://host/v1?api-key=***&v=***",
        ),
        ("a.base_url", "https://me:p@sk/secret@host/v1", "https://***@host/v1"),
        ("a.headers", '{"x-own": "sk-secret"}', "***"),
        ("a.headers", {"X-Auth": "sk-secret", "Team": "蟹"}, {"X-Auth": "***", "Team": "蟹"}),
        ("a.mirrors", ["https://me:sk-secret@host"], ["https://***@host"]),
        ("a.words", "これは? a=b", "これは? a=b"),
    ],
)
def test_secrets_are_hidden_wherever_an_address_or_header_has_them(
    name: str, value: object, shown_value: object
) -> None:
    app = build_cli_app(lambda _: 0, Options(configuration=opened(SettingView(name, value, "x"))))
    said = CliRunner().invoke(app, ["config", "show", "--json"])
    assert json.loads(said.stdout)[0]["value"] == shown_value
