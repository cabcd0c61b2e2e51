"""Two running houses, shared by all tests here: one follows rules, one takes its time."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from opencrab import settings
from tests.integration.cli.house import House, running
from tests.integration.cli.installation import Installation

SLOW = [
    {"when": "slow", "delay_ms": 1_000, "calls": [{"name": "ws_list", "arguments": {}}]},
    {"when": "slow", "text": "never said"},
    {"when": "forever", "delay_ms": 1_500, "text": "too late"},
    {"text": "quick"},
]


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """Ada speaks English, さくら Japanese, both by rules."""
    with running(tmp_path_factory.mktemp("house")) as house:
        for name, language in (("Ada", "en"), ("さくら", "ja")):
            house.run("agents", "create", "--name", name, "--language", language)
        yield house


@pytest.fixture(scope="session")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """Ada follows a script: "slow" and "forever" keep her thinking."""
    folder: Path = tmp_path_factory.mktemp("slow")
    script = folder / "script.json"
    script.write_text(json.dumps(SLOW), encoding="utf-8")
    more = {"OPENCRAB_LLM__PROVIDERS__SCRIPTED__SCRIPT": str(script)}
    with running(folder, more=more) as house:
        house.run("agents", "create", "--name", "Ada")
        yield house


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installation]:
    """An installation on which all is well, until a test breaks it."""
    for variable in settings.load_settings({}, {}).absent.values():
        monkeypatch.delenv(variable, raising=False)
    installation = Installation(tmp_path)
    yield installation
    installation.close()
