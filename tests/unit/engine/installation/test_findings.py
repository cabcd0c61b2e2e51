"""Findings in both languages: whatever is not well says what mends it."""

import re
import string

import pytest

from opencrab.domain.models.fault import Fault
from opencrab.domain.value import Language
from opencrab.engine.discord.diagnosis import DiagnosisResult
from opencrab.engine.installation.findings import _CURES, _WHAT, Findings

PARTS = {"default_users", "model_without_agent", *(key for key in _WHAT if "fault_" in key)}


def names(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("key", sorted(_WHAT))
def test_both_languages_tell_the_same_facts(key: str) -> None:
    for texts in (_WHAT, _CURES):
        if key in texts:
            assert set(texts[key]) == set(Language)
            assert len({frozenset(names(text)) for text in texts[key].values()}) == 1


def test_a_cure_belongs_to_a_sentence_and_its_facts_are_known_to_both() -> None:
    assert set(_CURES) <= set(_WHAT)
    for key in _CURES:
        commands = re.findall(r"opencrab [a-z-]+", _CURES[key][Language.EN])
        assert all(command in _CURES[key][Language.JA] for command in commands), key


def test_every_fault_has_words() -> None:
    assert {f"fault_{fault.value}" for fault in Fault} <= set(_WHAT)


def test_a_check_that_passed_has_no_cure() -> None:
    findings = Findings(Language.JA)
    well = findings.well("switches", "all_frozen")
    assert (well.state, well.cure) == (DiagnosisResult.OK, "")
    assert findings.problem("switches", "all_frozen").cure == "opencrab unfreeze"
