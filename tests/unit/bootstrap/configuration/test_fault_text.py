"""Each fault of a settings file is said in both languages, with its value and its cure."""

from pathlib import Path
from string import Formatter

import pytest

from opencrab.bootstrap.configuration import fault_text
from opencrab.bootstrap.configuration.fault_text import (
    configuration_error,
    configuration_fault_texts,
)
from opencrab.domain.configuration.file_check import SettingFault
from opencrab.domain.configuration.rule import SettingKind, SettingProblem
from opencrab.domain.configuration.rules import REFUSED, RULES
from opencrab.ports.texts import Texts
from tests.cases import for_each

TEXTS = Texts(fault_text.__file__)


def facts(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


@for_each("key", sorted(TEXTS))
def test_a_text_has_a_cure_and_the_same_facts_in_both_languages(key: str) -> None:
    assert facts(TEXTS[key]["ja"]) == facts(TEXTS[key]["en"])
    assert key == "more" or key.endswith("_cure") or f"{key}_cure" in TEXTS


def test_each_flaw_has_its_text() -> None:
    codes = {f"type_{kind}" for kind in SettingKind if kind is not SettingKind.SECRET}
    codes |= {f"fixed_{rule.reason}" for rule in RULES.values() if rule.fixed}
    assert codes | set(REFUSED.values()) <= set(TEXTS)


@pytest.mark.parametrize(
    ("language", "what", "cure"),
    [
        ("en", 'budget.turn_usd must be a number, not "高い"', "such as 0.5"),
        ("ja", '(現在の値: "高い")', "0.5 のように"),
    ],
)
def test_a_fault_is_said_with_value_and_default(language: str, what: str, cure: str) -> None:
    fault = SettingFault(3, "budget.turn_usd", SettingProblem("type_number"), "高い")
    said = configuration_fault_texts(fault, 0.5, language)
    assert what in said[0]
    assert cure in said[1]
    error = configuration_error(Path("/c.toml"), fault, 0.5, language, more=2)
    assert error.message.startswith("/c.toml:3: ")
    assert "2" in (error.cure or "")
    assert "`opencrab config check`" in (error.cure or "")


def test_a_long_value_is_cut() -> None:
    fault = SettingFault(1, "owner.name", SettingProblem("type_number"), "x" * 5_000)
    assert len(configuration_fault_texts(fault, None, "en")[0]) < 200
