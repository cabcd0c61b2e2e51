"""What is wrong with a settings file: every fault at once, each with its line."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from opencrab.domain.configuration.rule import SettingKind, SettingProblem, find_setting_problem
from opencrab.domain.configuration.rules import (
    REFUSED,
    is_secret_setting,
    setting_rule,
)
from opencrab.domain.configuration.toml_text import (
    TomlLines,
    TomlStatement,
    toml_statements,
)

_AT_LINE = re.compile(r"\s*\(at line (\d+), column \d+\)$")
_SYNTAX = {
    "Cannot overwrite": "syntax_twice",
    "Cannot declare": "syntax_twice",
    "Cannot mutate": "syntax_twice",
    "Cannot redefine": "syntax_twice",
    "Duplicate": "syntax_twice",
    "Expected '='": "syntax_equals",
    "Illegal character '\\n'": "syntax_quote",
    "Invalid value": "syntax_value",
    "Invalid initial character": "syntax_name",
    "Invalid statement": "syntax_name",
}
"""What Python's reader says of a frequent mistake, and the key of a sentence that says more."""

_NEAR = 0.6
_PROVIDERS = "llm.providers."
_OWN_TABLE = re.compile(r"mcp\.servers(\.[^.]+(\.(env|headers|oauth))?)?|actions\.values")


@dataclass(frozen=True)
class SettingFault:
    """One fault of a settings file: its line, the setting, and what is wrong with its value."""

    line: int
    name: str
    problem: SettingProblem
    value: object = field(default=None, repr=False)


@dataclass(frozen=True)
class CheckedFile:
    """A settings file that was read: its settings with their lines, and its faults."""

    values: Mapping[str, Any] = field(default_factory=dict, repr=False)
    lines: Mapping[str, int] = field(default_factory=dict)
    faults: tuple[SettingFault, ...] = ()


def check_settings_text(text: str, known: Sequence[str]) -> CheckedFile:
    """Read the text of a settings file; `known` are the names of all settings with a default."""
    try:
        document = tomllib.loads(text)
        flat = dict(_flat_settings(document))
    except (ValueError, RecursionError) as error:  # also numbers and names beyond Python's limits
        return CheckedFile(faults=(_syntax_fault(text, error),))
    statements = toml_statements(text)
    at = TomlLines(statements)
    faults = [*_of_dots(statements), *_of_sections(document, at, known)]
    unknown = tuple(f"{each.name}." for each in faults)
    values = {name: value for name, value in flat.items() if not f"{name}.".startswith(unknown)}
    lines = {name: at.line(tuple(name.split("."))) for name in values}
    for name, value in values.items():
        faults += _of_setting(name, value, lines[name], known)
    return CheckedFile(values, lines, tuple(sorted(faults, key=lambda fault: fault.line)))


def suggest_setting_names(name: str, known: Sequence[str]) -> tuple[str, ...]:
    """Return the names of settings that were perhaps meant by a name that is none."""
    last = name.rpartition(".")[2]
    same = [each for each in known if each.rpartition(".")[2] == last]
    near = same[:1] or get_close_matches(name, known, n=1, cutoff=_NEAR)
    # A model is named as a whole, though its default is written in parts.
    return tuple(_whole_setting(each) for each in near)


def _whole_setting(name: str) -> str:
    parent = name.rpartition(".")[0]
    return name if setting_rule(name) is not None or setting_rule(parent) is None else parent


def unknown_setting_problem(name: str, known: Sequence[str]) -> SettingProblem:
    """Return the problem of a name that is no setting, with the one that was perhaps meant."""
    if name in REFUSED:
        return SettingProblem(REFUSED[name])
    if is_secret_setting(name):
        return SettingProblem("unknown_secret")
    if (parent := name.rpartition(".")[0]) and setting_rule(parent) is not None:
        return SettingProblem("no_table", {"parent": parent})
    found = suggest_setting_names(name, known)
    return (
        SettingProblem("unknown_near", {"near": found[0]}) if found else SettingProblem("unknown")
    )


def _of_setting(
    name: str, value: object, line: int, known: Sequence[str]
) -> Iterator[SettingFault]:
    rule = setting_rule(name)
    if rule is None:
        if _is_section(name, known):
            if value != {}:
                yield SettingFault(line, name, SettingProblem("not_table"), value)
            return
        shown = None if is_secret_setting(name) else value
        yield SettingFault(line, name, unknown_setting_problem(name, known), shown)
    elif (problem := find_setting_problem(rule, value)) is not None:
        is_secret = rule.kind is SettingKind.SECRET or problem.code == "secret"
        yield SettingFault(line, name, problem, None if is_secret else value)


def _is_section(name: str, known: Sequence[str]) -> bool:
    """Check whether a name is that of a table: of settings, or of what the owner names."""
    is_provider = name.startswith(_PROVIDERS) and "." not in name.removeprefix(_PROVIDERS)
    is_own = is_provider or _OWN_TABLE.fullmatch(name) is not None
    return is_own or any(each.startswith(f"{name}.") for each in known)


def _of_dots(statements: Sequence[TomlStatement]) -> Iterator[SettingFault]:
    """Yield names with a dot in them, which no other place of a setting's name could tell apart."""
    for each in statements:
        found = next((part for part in each.path if "." in part), None)
        if found is not None:
            yield SettingFault(each.line, ".".join(each.path), SettingProblem("dot"))


def _of_sections(
    document: Mapping[str, Any], at: TomlLines, known: Sequence[str]
) -> Iterator[SettingFault]:
    """Yield the tables that do not exist, once each, however much is in them."""
    sections = sorted({name.partition(".")[0] for name in known})
    for key, value in document.items():
        if key in sections or not isinstance(value, Mapping):
            continue
        near = get_close_matches(key, sections, n=1, cutoff=_NEAR)
        problem = (
            SettingProblem("section_near", {"near": near[0]}) if near else SettingProblem("section")
        )
        yield SettingFault(at.line((key,)), key, problem)


def _flat_settings(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield settings by their dotted names; the table of a model is one value."""
    for key, value in table.items():
        name = f"{prefix}{key}"
        rule = setting_rule(name)
        if isinstance(value, Mapping) and value and rule is None:
            yield from _flat_settings(value, f"{name}.")
        else:
            yield name, value


def _syntax_fault(text: str, error: Exception) -> SettingFault:
    why = str(error)
    found = _AT_LINE.search(why)
    line = int(found[1]) if found else text.rstrip().count("\n") + 1
    why = _AT_LINE.sub("", why)
    code = next((code for part, code in _SYNTAX.items() if part in why), "syntax")
    return SettingFault(line, "", SettingProblem(code, {"why": why}))
