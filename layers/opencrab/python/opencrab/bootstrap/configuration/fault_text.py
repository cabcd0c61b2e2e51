"""Faults of settings in words, in the language of whoever reads them."""

import json
from collections.abc import Mapping
from datetime import date, time
from difflib import get_close_matches
from pathlib import Path

from opencrab.domain.configuration.file_check import SettingFault
from opencrab.domain.configuration.invalid_setting import InvalidSetting
from opencrab.domain.errors import Invalid
from opencrab.ports.texts import Texts

_LONGEST = 60


def configuration_fault_texts(
    fault: SettingFault, default: object, language: str
) -> tuple[str, str]:
    """Return what is wrong, and what to do."""
    facts = {**fault.problem.facts, "name": fault.name, "value": _value_text(fault.value)}
    if isinstance(facts.get("text"), str):
        facts["text"] = _value_text(facts["text"])
    facts["default"] = _value_text(default)
    code = fault.problem.code
    cure = f"{code}_cure"
    if default is None and f"{code}_without_cure" in Texts(__file__):
        cure = f"{code}_without_cure"
    return _sentence_of(code, language, facts), _sentence_of(cure, language, facts)


def raised_configuration_fault_texts(error: Invalid, language: str) -> tuple[str, str] | None:
    """Return what an error says and its cure in a language; None if there are no words for it."""
    name = error.field or ""
    if isinstance(error, InvalidSetting) and error.problem:
        facts = {**error.facts, "name": name}
        if near := get_close_matches(str(facts.get("provider")), _known_of(facts), n=1):
            facts["near"] = str(facts["model"]).replace(str(facts["provider"]), near[0], 1)
        cure = f"{error.problem}_near_cure" if near else f"{error.problem}_cure"
        return _sentence_of(error.problem, language, facts), _sentence_of(cure, language, facts)
    if name.endswith(".base_url") and language != "en":
        return _sentence_of("address", language, {"name": name}), _sentence_of(
            "address_cure", language, {}
        )
    return None


def _known_of(facts: Mapping[str, object]) -> list[str]:
    return str(facts.get("known", "")).split(", ")


def _sentence_of(key: str, language: str, facts: Mapping[str, object]) -> str:
    found = Texts(__file__)[key]
    return found.get(language, found["en"]).format_map(facts)


def configuration_error(
    path: Path, fault: SettingFault, default: object, language: str, more: int = 0
) -> Invalid:
    """Return the error for a fault in a file; `more` is the number of the other faults."""
    what, cure = configuration_fault_texts(fault, default, language)
    if more:
        found = Texts(__file__)["more"]
        cure = found.get(language, found["en"]).format(cure=cure, count=more)
    return Invalid(f"{path}:{fault.line}: {what}", field=fault.name or None, cure=cure)


def _value_text(value: object) -> str:
    """Return a value as it stands in TOML, shortened."""
    if isinstance(value, date | time):
        return value.isoformat()
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
