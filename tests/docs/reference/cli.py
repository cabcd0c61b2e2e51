"""The page of all commands with their arguments and options, as `--help` has them."""

from collections.abc import Iterator
from typing import Any

import typer.main

from opencrab.domain.value import Language
from opencrab.gateways.cli.app import build_cli_app
from opencrab.gateways.cli.language.sentences import CliLanguage, SentenceCatalog
from tests.docs.reference.text import sentence, table

_TITLE = {Language.EN: "Commands", Language.JA: "コマンド"}
_HEAD = {
    Language.EN: ("option or argument", "value", "default", "what it does"),
    Language.JA: ("オプション・引数", "値", "既定値", "説明"),
}
_COMMON = {Language.EN: "Every command", Language.JA: "すべてのコマンド"}


def commands() -> dict[str, Any]:
    """Every command by its name as it is typed, groups aside unless they do something alone."""
    return dict(_walk(_root(), "opencrab"))


def page(language: Language) -> str:
    """The page in one language."""
    words = SentenceCatalog(CliLanguage(language.value))
    shared = {_identity(option) for option in _root().params}
    lines = [f"# {_TITLE[language]}", "", sentence("pages", "cli", language)]
    lines += ["", f"## {_COMMON[language]}", ""]
    lines += table(_HEAD[language], _rows(_root(), set(), words))
    for name, command in commands().items():
        lines += ["", f"## {name}", "", words.help(command.help or "")]
        if rows := _rows(command, shared, words):
            lines += ["", *table(_HEAD[language], rows)]
    return "\n".join(lines) + "\n"


def parameters(command: Any) -> list[Any]:
    """What a person may give a command."""
    return [each for each in command.params if not getattr(each, "hidden", False)]


def shown(parameter: Any) -> str:
    """A parameter as it is typed."""
    if parameter.param_type_name == "argument":
        return f"`{(parameter.metavar or parameter.name).upper()}`"
    return ", ".join(f"`{each}`" for each in (*parameter.opts, *parameter.secondary_opts))


def _root() -> Any:
    return typer.main.get_command(build_cli_app(_not_launched))


def _not_launched(*_given: object, **_named: object) -> int:
    raise NotImplementedError


def _walk(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", {})
    if name != "opencrab" and (not inner or command.invoke_without_command):
        yield name, command
    for verb, each in inner.items():
        if each.hidden:
            continue
        yield from _walk(each, f"{name} {verb}")


def _identity(parameter: Any) -> tuple[str, str]:
    """What tells an option of every command from one of the same name that means another thing."""
    return parameter.name, getattr(parameter, "help", "") or ""


def _rows(
    command: Any, shared: set[tuple[str, str]], words: SentenceCatalog
) -> list[tuple[str, ...]]:
    own = [each for each in parameters(command) if _identity(each) not in shared]
    return [
        (shown(each), _value(each), _default(each), words.help(getattr(each, "help", "") or ""))
        for each in own
    ]


def _value(parameter: Any) -> str:
    if getattr(parameter, "is_flag", False):
        return ""
    kind: Any = parameter.type_descriptor.annotation
    if members := getattr(kind, "__members__", None):
        return ", ".join(f"`{choice.value}`" for choice in members.values())
    if parameter.metavar and parameter.param_type_name != "argument":
        return f"`{parameter.metavar}`"
    name: str = kind.__name__
    return {"str": "text", "int": "integer", "float": "number"}.get(name, name)


def _default(parameter: Any) -> str:
    value = parameter.default
    if value is None or callable(value) or value is False or value == () or repr(value) == "...":
        return ""
    return f"`{getattr(value, 'value', value)}`"
