"""Aliases, the fallback chain and the models of uses are set by commands of their own."""

from pathlib import Path

import pytest

from tests.unit.gateways.cli.configuration.home import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path, before=("models",))


def models(home: Home, *command: str) -> dict[str, str]:
    return {each["name"]: each["model"] for each in home.run(*command, "--json").json}


@pytest.mark.parametrize(("language", "head"), [("en", "alias"), ("ja", "別名")])
def test_an_alias_is_set_and_returns_to_the_model_that_ships(
    home: Home, language: str, head: str
) -> None:
    assert head in home.run("aliases", language=language).out
    ships = models(home, "aliases")
    assert ships["fast"] == "openai:gpt-5-mini"
    assert home.run("aliases", "set", "fast", "ollama:qwen3:8b").code == 0
    assert home.run("aliases", "set", "mine", "fast", language=language).code == 0
    assert models(home, "aliases") == ships | {"fast": "ollama:qwen3:8b", "mine": "fast"}
    assert home.run("aliases", "remove", "fast").code == 0
    assert models(home, "aliases") == ships | {"mine": "fast"}
    assert home.run("aliases", "remove", "fast").code == 5
    assert home.run("aliases", "set", "x", "nobody:1").code == 2


def test_the_fallback_chain_is_set_and_reset(home: Home) -> None:
    ships = home.run("fallback", "--json").json
    assert ships[0] == "openai"
    assert home.run("fallback", "set", "ollama", "fast", "google:gemini-x").code == 0
    assert home.run("fallback", "show", "--json").json == ["ollama", "fast", "google:gemini-x"]
    assert "ollama → fast" in home.run("fallback").out
    assert home.run("fallback", "set", "ollama", "ollama").code == 2
    assert home.run("fallback", "reset").code == 0
    assert home.run("fallback", "--json").json == ships


@pytest.mark.parametrize(("language", "head"), [("en", "use "), ("ja", "用途")])
def test_the_model_of_a_use_is_set_and_reset(home: Home, language: str, head: str) -> None:
    assert head in home.run("uses", language=language).out
    ships = models(home, "uses")
    assert home.run("uses", "set", "analysis", "cheap", language=language).code == 0
    assert models(home, "uses") == ships | {"analysis": "cheap"}
    assert home.run("uses", "reset", "analysis").code == 0
    assert models(home, "uses") == ships
    assert home.run("uses", "set", "analisys", "cheap").code == 2
    assert "llm.models.analysis" in home.err
