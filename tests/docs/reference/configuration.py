"""The page of all settings: type, default, environment variable, and what each does."""

import fnmatch
import json
import tomllib
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from opencrab.domain.configuration.rules import RULES
from opencrab.domain.value import Language
from tests.conftest import ROOT
from tests.docs.reference.text import sentence, sentences, table

FILE = ROOT / "config" / "default.toml"
WHOLE = ("llm.aliases.", "llm.models.")
"""Sections whose entries are tables that are set as one."""

_TITLE = {Language.EN: "Configuration", Language.JA: "設定"}
_HEAD = {
    Language.EN: ("setting", "type", "default", "environment variable", "what it does"),
    Language.JA: ("設定", "型", "既定値", "環境変数", "説明"),
}


def settings() -> dict[str, Any]:
    """Every setting by its dotted name, with its default."""
    return dict(_flat(tomllib.loads(FILE.read_text(encoding="utf-8"))))


def unset_settings() -> list[str]:
    """Every setting that ships without a value: of uses, MCP servers, and custom actions."""
    known = settings()
    return [
        name
        for name in RULES
        if name.startswith(("llm.uses.", "mcp.servers.", "actions.values.")) and name not in known
    ]


def described_by(name: str) -> str:
    """The entry of configuration.toml that describes a setting; raises KeyError for none.

    An entry such as `llm.providers.*.api_key` describes all settings of this form.
    """
    known = sentences("configuration")
    if name in known:
        return name
    return next(
        (entry for entry in known if "*" in entry and fnmatch.fnmatchcase(name, entry)), name
    )


def page(language: Language) -> str:
    """The page in one language."""
    lines = [f"# {_TITLE[language]}", "", sentence("pages", "configuration", language)]
    for section, names in groupby(settings(), key=_section):
        more = (name for name in unset_settings() if _section(name) == section)
        rows = [_row(name, language) for name in (*names, *more)]
        lines += ["", f"## {section}", "", *table(_HEAD[language], rows)]
    return "\n".join(lines) + "\n"


def _row(name: str, language: Language) -> tuple[str, ...]:
    default, rule = settings().get(name), RULES.get(name)
    kind = str(rule.kind) if default is None and rule is not None else _type(default)
    # A variable can set only what the file has.
    variable = "" if "*" in name else f"`OPENCRAB_{name.upper().replace('.', '__')}`"
    text = sentence("configuration", described_by(name), language)
    return (
        f"`{name}`",
        kind,
        "" if default is None else f"`{_shown(default)}`",
        variable,
        text,
    )


def _section(name: str) -> str:
    parts = name.split(".")
    return ".".join(parts[: 2 if parts[0] in ("llm", "gateway") and len(parts) > 2 else 1])


def _flat(section: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in section.items():
        if isinstance(value, dict) and value and not prefix.startswith(WHOLE):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _type(value: Any) -> str:
    return {dict: "table", bool: "boolean", list: "list"}.get(type(value), type(value).__name__)


def _shown(value: Any) -> str:
    if isinstance(value, dict) and "model" in value:
        return f"{value['provider']}:{value['model']}"
    return json.dumps(value, ensure_ascii=False)
