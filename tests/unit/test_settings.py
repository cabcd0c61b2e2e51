"""Settings: where each comes from, which one wins, and what is refused by name."""

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.errors import Invalid
from opencrab.settings import (
    EffectiveSetting,
    Settings,
    load_settings,
    machine_time_zone_setting,
    owner_key_setting,
    public_prices_of_settings,
)

TOML = """
[agent]
max_steps = 10
greeting = "こんにちは"
ratio = 0.5
eager = true
languages = ["ja", "en"]

[budget]
turn_usd = 0.50

[llm.providers.openai]
api_key = "${OPENAI_API_KEY}"
base_url = "https://example.invalid/v1"

[llm.providers.scripted]

[gateway.discord]
token = "${DISCORD_TOKEN}"
guild_ids = ["${GUILD}", "2"]

[gateway.rest]
port = 8080
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A configuration of our own."""
    (tmp_path / "default.toml").write_text(TOML, encoding="utf-8")
    (tmp_path / "pricing.toml").write_text('[models.openai."gpt-4o"]\ninput = 2.5\n')
    return tmp_path


def loaded(folder: Path, **environment: str) -> Settings:
    return load_settings({}, environment, folder=folder)


def refusal(folder: Path, **environment: str) -> Invalid:
    with pytest.raises(Invalid) as caught:
        loaded(folder, **environment)
    return caught.value


def write(folder: Path, text: str) -> None:
    (folder / "default.toml").write_text(text, encoding="utf-8")


def test_the_defaults_load_without_any_variable() -> None:
    settings = load_settings({}, {})
    assert settings.effective("agent.max_steps") == EffectiveSetting(10, "default.toml")
    assert settings.get("gateway.rest.port") == 8080
    assert settings.get("budget.installation_day_usd") == 5.0
    assert settings.pricing["models"]["openai"]["gpt-4o"]["max_input_tokens"] == 128_000
    assert public_prices_of_settings()["models"]["openai:gpt-4o"]["input"] == 2.5


def test_the_defaults_say_which_parts_lack_which_variable() -> None:
    absent = load_settings({}, {"OPENAI_API_KEY": "sk-test"}).absent
    assert absent["llm.providers.anthropic"] == "ANTHROPIC_API_KEY"
    assert absent["gateway.discord"] == "DISCORD_TOKEN"
    assert "llm.providers.openai" not in absent
    assert "llm.providers.ollama" not in absent


def test_every_default_can_be_set_by_its_variable() -> None:
    defaults = load_settings({}, {})
    for name, found in defaults.values.items():
        if isinstance(found.value, dict):
            continue
        variable = f"OPENCRAB_{name.upper().replace('.', '__')}"
        text = ",".join(found.value) if isinstance(found.value, list) else str(found.value)
        again = load_settings({}, {variable: text}).effective(name)
        assert again == EffectiveSetting(found.value, variable)


@pytest.mark.parametrize(
    ("variable", "text", "name", "value"),
    [
        ("OPENCRAB_AGENT__MAX_STEPS", "3", "agent.max_steps", 3),
        ("OPENCRAB_AGENT__GREETING", "やあ, hello", "agent.greeting", "やあ, hello"),
        ("OPENCRAB_AGENT__GREETING", "7", "agent.greeting", "7"),
        ("OPENCRAB_AGENT__RATIO", "1", "agent.ratio", 1.0),
        ("OPENCRAB_AGENT__EAGER", "false", "agent.eager", False),
        ("OPENCRAB_AGENT__EAGER", " TRUE ", "agent.eager", True),
        ("OPENCRAB_AGENT__EAGER", "0", "agent.eager", False),
        ("OPENCRAB_AGENT__LANGUAGES", "ja, en ,", "agent.languages", ["ja", "en"]),
        ("OPENCRAB_AGENT__LANGUAGES", "", "agent.languages", []),
    ],
)
def test_a_variable_has_the_type_of_its_setting(
    folder: Path, variable: str, text: str, name: str, value: object
) -> None:
    found = loaded(folder, **{variable: text}).effective(name)
    assert found == EffectiveSetting(value, variable)
    assert type(found.value) is type(value)


@pytest.mark.parametrize(
    ("variable", "text", "expected"),
    [
        ("OPENCRAB_AGENT__MAX_STEPS", "many", "int"),
        ("OPENCRAB_AGENT__MAX_STEPS", "1.5", "int"),
        ("OPENCRAB_AGENT__MAX_STEPS", "", "int"),
        ("OPENCRAB_AGENT__RATIO", "半分", "float"),
        ("OPENCRAB_AGENT__RATIO", "nan", "float"),
        ("OPENCRAB_AGENT__RATIO", "-inf", "float"),
        ("OPENCRAB_AGENT__EAGER", "はい", "bool"),
        ("OPENCRAB_AGENT__EAGER", "2", "bool"),
    ],
)
def test_a_value_of_another_type_is_refused_by_the_variables_name(
    folder: Path, variable: str, text: str, expected: str
) -> None:
    error = refusal(folder, **{variable: text})
    assert error.field == variable
    assert (expected in error.message, repr(text) in error.message) == (True, True)
    assert error.cure


@given(text=st.text())
def test_a_budget_is_a_finite_number_whatever_the_variable_says(text: str) -> None:
    try:
        amount = load_settings({}, {"OPENCRAB_BUDGET__TURN_USD": text}).get("budget.turn_usd")
    except Invalid as error:
        message = error.message
    else:
        message = ""
        assert isinstance(amount, float)
        assert math.isfinite(amount)
    assert not message or "OPENCRAB_BUDGET__TURN_USD" in message


@pytest.mark.parametrize(
    "variable",
    ["OPENCRAB_BUDGET__TURN_UDS", "OPENCRAB_BUGDET__TURN_USD", "OPENCRAB_AGENT__MAX__STEPS"],
)
def test_a_misspelt_variable_is_refused_or_a_limit_would_be_none(
    folder: Path, variable: str
) -> None:
    error = refusal(folder, **{variable: "1"})
    assert error.field == variable
    assert variable in error.message
    assert error.cure


def test_variables_that_are_no_settings_are_left_alone(folder: Path) -> None:
    others = {"OPENCRAB_OWNER_KEY": "oc_secret", "OPENCRAB_WIRE": "/x", "PATH": "/bin", "a__b": "c"}
    assert loaded(folder, **others).values == loaded(folder).values


def test_a_provider_may_be_made_of_variables_alone(folder: Path) -> None:
    settings = loaded(
        folder,
        OPENCRAB_LLM__PROVIDERS__KURABU__BASE_URL="http://localhost:9/v1",
        OPENCRAB_LLM__PROVIDERS__KURABU__KIND="openai",
    )
    assert settings.table("llm")["providers"]["kurabu"] == {
        "base_url": "http://localhost:9/v1",
        "kind": "openai",
    }


def test_a_section_is_read_as_it_was_written(folder: Path) -> None:
    providers = loaded(folder, OPENAI_API_KEY="sk-鍵").table("llm.providers")
    assert providers == {
        "openai": {"api_key": "sk-鍵", "base_url": "https://example.invalid/v1"},
        "scripted": {},
    }


def test_a_variable_in_the_file_takes_its_value(folder: Path) -> None:
    settings = loaded(folder, OPENAI_API_KEY="sk-1", DISCORD_TOKEN="t", GUILD="1")
    assert settings.effective("llm.providers.openai.api_key") == EffectiveSetting(
        "sk-1", "default.toml"
    )
    assert settings.get("gateway.discord.guild_ids") == ["1", "2"]
    assert settings.absent == {}


@pytest.mark.parametrize("given_to_it", [{}, {"OPENAI_API_KEY": ""}])
def test_a_provider_or_gateway_without_its_variable_is_absent(
    folder: Path, given_to_it: dict[str, str]
) -> None:
    settings = loaded(folder, GUILD="1", **given_to_it)
    assert settings.absent == {
        "llm.providers.openai": "OPENAI_API_KEY",
        "gateway.discord": "DISCORD_TOKEN",
    }
    assert settings.get("llm.providers.openai.api_key") == ""


def test_a_part_whose_setting_is_given_elsewhere_is_not_absent(folder: Path) -> None:
    settings = loaded(folder, OPENCRAB_LLM__PROVIDERS__OPENAI__API_KEY="sk-2", GUILD="1")
    assert settings.absent == {"gateway.discord": "DISCORD_TOKEN"}
    assert settings.get("llm.providers.openai.api_key") == "sk-2"


def test_a_missing_variable_anywhere_else_is_an_error(folder: Path) -> None:
    write(folder, '[owner]\nname = "${OWNER_NAME}"\n')
    error = refusal(folder)
    assert error.field == "owner.name"
    assert "OWNER_NAME" in error.message
    assert "OWNER_NAME" in (error.cure or "")
    assert loaded(folder, OWNER_NAME="花子").get("owner.name") == "花子"
    assert loaded(folder, OPENCRAB_OWNER__NAME="太郎").get("owner.name") == "太郎"


def test_a_variable_inside_other_words_is_filled_in_once(folder: Path) -> None:
    write(folder, '[owner]\nname = "<${A}> と ${B} $C ${}"\n')
    settings = loaded(folder, A="${B}", B="b")
    assert settings.get("owner.name") == "<${B}> と b $C ${}"


def test_the_command_line_wins_over_variable_and_file(folder: Path) -> None:
    environment = {"OPENCRAB_GATEWAY__REST__PORT": "9000"}
    name = "gateway.rest.port"
    assert load_settings({}, environment, folder=folder).effective(name).source == next(
        iter(environment)
    )
    settings = load_settings({name: 9100}, environment, folder=folder)
    assert settings.effective(name) == EffectiveSetting(9100, "command line")


def test_an_option_that_was_not_given_leaves_the_setting(folder: Path) -> None:
    name = "gateway.rest.port"
    assert load_settings({name: None}, {}, folder=folder).effective(name) == EffectiveSetting(
        8080, "default.toml"
    )


def test_an_option_that_names_no_setting_is_refused(folder: Path) -> None:
    with pytest.raises(Invalid, match=r"no setting 'gateway\.rest\.prot'"):
        load_settings({"gateway.rest.prot": 1}, {}, folder=folder)


def test_the_narrowest_scope_that_sets_a_setting_holds(folder: Path) -> None:
    settings = loaded(folder)
    name = "agent.max_steps"
    agent, narrow = {name: 5}, {name: 0}
    assert settings.effective(name) == EffectiveSetting(10, "default.toml")
    assert settings.effective(name, agent=agent) == EffectiveSetting(5, "agent")
    assert settings.effective(name, agent=agent, session=narrow) == EffectiveSetting(0, "session")
    assert settings.effective(name, agent=agent, session={}) == EffectiveSetting(5, "agent")
    assert settings.effective(name, agent={name: None}) == EffectiveSetting(10, "default.toml")


def test_a_scope_narrows_what_the_command_line_says(folder: Path) -> None:
    settings = load_settings({"agent.greeting": "Hi"}, {}, folder=folder)
    found = settings.effective("agent.greeting", session={"agent.greeting": "おはよう"})
    assert found == EffectiveSetting("おはよう", "session")


@pytest.mark.parametrize("scopes", [{}, {"agent": {"agent.max_stesp": 3}}])
def test_a_setting_that_does_not_exist_is_refused(folder: Path, scopes: dict[str, Any]) -> None:
    with pytest.raises(Invalid, match=r"agent\.max_stesp") as caught:
        loaded(folder).effective("agent.max_stesp", **scopes)
    assert caught.value.field == "agent.max_stesp"


@pytest.mark.parametrize("name", ["default.toml", "pricing.toml"])
@pytest.mark.parametrize(
    "content",
    [b"[agent\nmax_steps = 3", "名前 = 花".encode(), b"\xff\xfe", "[a]\nb = 'あ".encode("cp932")],
)
def test_a_broken_file_is_named(folder: Path, name: str, content: bytes) -> None:
    (folder / name).write_bytes(content)
    error = refusal(folder)
    assert str(folder / name) in error.message
    assert error.cure


def test_a_missing_price_list_is_named(folder: Path) -> None:
    (folder / "pricing.toml").unlink()
    assert str(folder / "pricing.toml") in refusal(folder).message


@pytest.mark.parametrize("content", [b"{", b"\xff", b"[]", b"[" * 100_000, None])
def test_broken_public_prices_are_named_when_somebody_needs_them(
    folder: Path, content: bytes | None
) -> None:
    if content is not None:
        (folder / "models.json").write_bytes(content)
    assert loaded(folder, GUILD="1").values
    with pytest.raises(Invalid, match=r"models\.json"):
        public_prices_of_settings(folder=folder)


def test_the_absent_parts_of_a_section_are_told_by_name(folder: Path) -> None:
    settings = loaded(folder, GUILD="1")
    assert settings.absent_below("llm.providers") == {"openai": "OPENAI_API_KEY"}
    assert settings.absent_below("gateway") == {"discord": "DISCORD_TOKEN"}


def test_a_missing_configuration_says_what_to_do(tmp_path: Path) -> None:
    error = refusal(tmp_path)
    assert "default.toml is missing" in error.message
    assert error.cure


def test_the_first_owner_key_is_the_operators(monkeypatch: pytest.MonkeyPatch) -> None:
    assert owner_key_setting({"OPENCRAB_OWNER_KEY": "oc_key"}) == "oc_key"
    assert owner_key_setting({"OPENCRAB_OWNER_KEY": ""}) is None
    assert owner_key_setting({}) is None
    monkeypatch.setenv("OPENCRAB_OWNER_KEY", "oc_from_here")
    assert owner_key_setting() == "oc_from_here"


def test_the_process_environment_is_read_unless_another_is_given(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENCRAB_AGENT__GREETING", "おはよう")
    assert load_settings({}, folder=folder).get("agent.greeting") == "おはよう"
    assert load_settings({}, {}, folder=folder).get("agent.greeting") == "こんにちは"


def test_no_value_is_shown_where_settings_are(folder: Path) -> None:
    settings = loaded(folder, OPENAI_API_KEY="sk-KANARI", DISCORD_TOKEN="t-KANARI", GUILD="1")
    assert "KANARI" not in repr(settings)
    assert "KANARI" not in f"{settings.effective('llm.providers.openai.api_key')!r}"
    assert "default.toml" in repr(settings)
    assert settings.get("llm.providers.openai.api_key") == "sk-KANARI"


def test_the_variable_behind_a_setting_is_known_whether_or_not_it_is_set(folder: Path) -> None:
    expected = {"openai": "OPENAI_API_KEY"}
    assert loaded(folder, GUILD="1").variables_of("api_key", "llm.providers") == expected
    given = loaded(folder, GUILD="1", OPENAI_API_KEY="sk")
    assert given.variables_of("api_key", "llm.providers") == expected
    assert given.variables_of("base_url", "llm.providers") == {}


@pytest.mark.parametrize(
    ("environment", "link", "written", "zone"),
    [
        ({"TZ": "Asia/Tokyo"}, "/usr/share/zoneinfo/Europe/Berlin", None, "Asia/Tokyo"),
        ({"TZ": ":Asia/Tokyo"}, None, None, "Asia/Tokyo"),
        ({"TZ": "/usr/share/zoneinfo/Asia/Tokyo"}, None, None, "Asia/Tokyo"),
        ({"TZ": "JST-9"}, "/usr/share/zoneinfo/Asia/Tokyo", None, "Asia/Tokyo"),
        ({}, "/var/db/timezone/zoneinfo/America/New_York", None, "America/New_York"),
        ({}, None, "Europe/Berlin\n", "Europe/Berlin"),
        ({}, "/usr/share/zoneinfo/Etc/UTC", None, "UTC"),
        ({}, "/somewhere/else", "Middle/Earth", "UTC"),
        ({}, None, None, "UTC"),
    ],
)
def test_the_machines_time_zone_is_found_where_systems_keep_it(
    tmp_path: Path,
    environment: dict[str, str],
    link: str | None,
    written: str | None,
    zone: str,
) -> None:
    if link is not None:
        (tmp_path / "localtime").symlink_to(link)
    if written is not None:
        (tmp_path / "timezone").write_text(written)
    assert machine_time_zone_setting(environment, etc=tmp_path) == zone
