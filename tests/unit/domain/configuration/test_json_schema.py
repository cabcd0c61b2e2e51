"""The published schema accepts what the rules accept, and is the file that ships."""

import json
import tomllib
from typing import Any

import jsonschema
import pytest

from opencrab.domain.configuration.file_check import check_settings_text
from opencrab.settings import load_settings, settings_schema
from tests.conftest import ROOT
from tests.docs.reference.schema import FILE, schema

KNOWN = tuple(load_settings({}, {}).values)


def faults(text: str) -> list[Any]:
    judge = jsonschema.Draft202012Validator(json.loads(settings_schema()))
    return list(judge.iter_errors(tomllib.loads(text)))


def test_the_file_is_current() -> None:
    told = "the settings changed: run `python -m tests.docs.reference.schema`"
    assert FILE.read_text(encoding="utf-8") == schema(), told
    jsonschema.Draft202012Validator.check_schema(json.loads(settings_schema()))


def test_the_defaults_fit_the_schema() -> None:
    text = (ROOT / "config" / "default.toml").read_text(encoding="utf-8")
    assert faults(text[: text.index("[aws]")]) == []


@pytest.mark.parametrize(
    ("text", "is_right"),
    [
        ("[budget]\nturn_usd = 2", True),
        ("[budget]\nturn_usd = '2'", False),
        ("[budget]\nturn_usd = -1", False),
        ("[budget]\nturn_uds = 2", False),
        ("[bugdet]\nturn_usd = 2", False),
        ("[llm.providers.mine]\nbase_url = 'http://localhost:1/v1'", True),
        ("[llm.providers.mine]\nbase_url = 'localhost'", False),
        ("[llm.providers.mine]\napi_key = 'sk-1'", False),
        ("[llm.providers.mine]\napi_key = '${MY_KEY}'", True),
        ("[llm.providers.mine]\nkind = 'openia'", False),
        ("[llm.aliases]\nx = 'openai:x'\ny = { provider = 'openai', model = 'y' }", True),
        ("[llm.aliases]\nx = { provider = 'openai' }", False),
        ("[gateway.rest]\nenabled = false", False),
        ("[gateway.rest]\nenabled = true\nport = 1", True),
        ("[gateway.rest]\nport = 70000", False),
        ("[llm.uses.thinking]\ntimeout_seconds = 0", False),
        ("[web]\nallow = ['https://docs.python.org/3/', '${SITE}']", True),
        ("[web]\nallow = 'https://docs.python.org/3/'", False),
    ],
)
def test_editors_and_the_check_judge_alike(text: str, *, is_right: bool) -> None:
    assert (not faults(text)) is is_right
    assert (not check_settings_text(text, KNOWN).faults) is is_right
