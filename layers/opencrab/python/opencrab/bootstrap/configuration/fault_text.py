"""Faults of settings in words, in the language of whoever reads them."""

import json
from pathlib import Path

from opencrab.domain.configuration.file_check import SettingFault
from opencrab.domain.errors import Invalid
from opencrab.ports.texts import Texts

_LONGEST = 60


def configuration_fault_texts(
    fault: SettingFault, default: object, language: str
) -> tuple[str, str]:
    """Return what is wrong, and what to do."""
    texts = Texts(__file__)
    facts = {**fault.problem.facts, "name": fault.name, "value": _value_text(fault.value)}
    if isinstance(facts.get("text"), str):
        facts["text"] = _value_text(facts["text"])
    facts["default"] = _value_text(default)

    def said(key: str) -> str:
        found = texts[key]
        return found.get(language, found["en"]).format_map(facts)

    return said(fault.problem.code), said(f"{fault.problem.code}_cure")


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
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
