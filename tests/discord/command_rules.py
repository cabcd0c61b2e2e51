"""Command rules: what commands must keep to, which Discord's published description does not say."""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.discord.refusals import Refusal, invalid

LOCALES = frozenset(
    (
        *("id", "da", "de", "en-GB", "en-US", "es-ES", "es-419", "fr", "hr", "it", "lt", "hu"),
        *("nl", "no", "pl", "pt-BR", "ro", "fi", "sv-SE", "vi", "tr", "cs", "el", "bg", "ru"),
        *("uk", "hi", "th", "zh-CN", "ja", "zh-TW", "ko"),
    )
)
MOST = {1: 100, 2: 15, 3: 15}
OPTIONS, CHOICES, CHARACTERS, CREATES_A_DAY = 25, 25, 8_000, 200
SUBCOMMANDS = (1, 2)
OPTION_TYPES = range(1, 12)
PLURAL = {"integration_types": {0, 1}, "contexts": {0, 1, 2}}


def check_commands(commands: Any) -> None:
    """Raise a refusal for a list of commands that breaks a rule."""
    if not isinstance(commands, list):
        raise invalid("", "BASE_TYPE_LIST", "all commands as a list")
    kinds = [each.get("type") or 1 for each in commands]
    for kind, most in MOST.items():
        if kinds.count(kind) > most:
            raise invalid("", "OURS_TOO_MANY", f"at most {most} commands of type {kind}")
    names = [(each.get("type") or 1, each.get("name")) for each in commands]
    if len(set(names)) != len(names):
        raise invalid("", "APPLICATION_COMMANDS_DUPLICATE_NAME", f"a name twice in {names}")
    for number, command in enumerate(commands):
        check_command(str(number), command)


def check_command(where: str, command: Mapping[str, Any]) -> None:
    """Raise a refusal for one command."""
    kind = command.get("type") or 1
    if kind == 1:
        _check_names(where, command)
        _check_options(where, command.get("options") or [])
    elif command.get("description") or command.get("options"):
        raise invalid(where, "OURS_MENU", "a context menu has no description and no options")
    else:
        _length(f"{where}.name", command.get("name") or "", 1, 32)
        _check_locales(where, command)
    for name, known in PLURAL.items():
        if not set(command.get(name) or known) <= known:
            raise invalid(f"{where}.{name}", "BASE_TYPE_CHOICES", f"some of {sorted(known)}")
    if characters(command) > CHARACTERS:
        raise invalid(where, "APPLICATION_COMMAND_TOO_LARGE", f"at most {CHARACTERS} characters")


def check_creates(made: int) -> None:
    """Raise a refusal when a day has brought too many new commands."""
    if made > CREATES_A_DAY:
        raise Refusal(400, 30034)


def characters(command: Mapping[str, Any]) -> int:
    """What counts for the limit of a command: the longest localisation of each text."""
    told = sum(
        max(len(text) for text in (command.get(name) or "", *_localised(command, name).values()))
        for name in ("name", "description")
    )
    choices = command.get("choices") or []
    told += sum(
        max(len(text) for text in (each.get("name") or "", *_localised(each, "name").values()))
        + len(str(each.get("value", "")))
        for each in choices
    )
    return told + sum(characters(each) for each in command.get("options") or [])


def _check_options(where: str, options: Sequence[Mapping[str, Any]]) -> None:
    if len(options) > OPTIONS:
        raise invalid(f"{where}.options", "BASE_TYPE_BAD_LENGTH", f"at most {OPTIONS}")
    grouped = [each.get("type") in SUBCOMMANDS for each in options]
    if any(grouped) and not all(grouped):
        raise invalid(f"{where}.options", "OURS_MIXED", "subcommands or options, not both")
    names = [each.get("name") for each in options]
    if len(set(names)) != len(names):
        raise invalid(f"{where}.options", "APPLICATION_COMMAND_OPTIONS_NAME_ALREADY_EXISTS", "")
    optional = False
    for number, option in enumerate(options):
        inner = f"{where}.options.{number}"
        _check_names(inner, option)
        if option.get("type") not in OPTION_TYPES:
            raise invalid(f"{inner}.type", "BASE_TYPE_CHOICES", "an unknown type")
        if option.get("required") and optional:
            raise invalid(
                inner, "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID", "required after optional"
            )
        optional = optional or not option.get("required")
        _check_choices(inner, option)
        _check_options(inner, option.get("options") or [])


def _check_choices(where: str, option: Mapping[str, Any]) -> None:
    choices = option.get("choices") or []
    if len(choices) > CHOICES:
        raise invalid(f"{where}.choices", "BASE_TYPE_BAD_LENGTH", f"at most {CHOICES}")
    if choices and option.get("autocomplete"):
        raise invalid(where, "OURS_AUTOCOMPLETE", "choices or autocomplete, not both")
    for number, choice in enumerate(choices):
        _length(f"{where}.choices.{number}.name", choice.get("name") or "", 1, 100)
        _check_locales(f"{where}.choices.{number}", choice)


def _check_names(where: str, named: Mapping[str, Any]) -> None:
    _check_locales(where, named)
    for name in (named.get("name") or "", *_localised(named, "name").values()):
        if not is_name(name):
            raise invalid(
                f"{where}.name", "APPLICATION_COMMAND_INVALID_NAME", f"not a name: {name!r}"
            )
    for text in (named.get("description") or "", *_localised(named, "description").values()):
        _length(f"{where}.description", text, 1, 100)


def is_name(name: str) -> bool:
    """Whether a chat command may be called so: 1 to 32 lower-case letters, numbers, - _ '."""
    return 1 <= len(name) <= 32 and name == name.lower() and all(_is_allowed(each) for each in name)


def _is_allowed(character: str) -> bool:
    if character in "-_'":
        return True
    if "\u0900" <= character <= "\u097f" or "\u0e00" <= character <= "\u0e7f":
        return True
    return unicodedata.category(character)[0] in "LN"


def _check_locales(where: str, named: Mapping[str, Any]) -> None:
    for name in ("name", "description"):
        for locale in _localised(named, name):
            if locale not in LOCALES:
                raise invalid(f"{where}.{name}_localizations", "OURS_LOCALE", f"no locale {locale}")


def _localised(named: Mapping[str, Any], name: str) -> Mapping[str, str]:
    return named.get(f"{name}_localizations") or {}


def _length(where: str, text: str, least: int, most: int) -> None:
    if not least <= len(text) <= most:
        raise invalid(where, "BASE_TYPE_BAD_LENGTH", f"{least} to {most} characters")


def walk(options: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """All options of a command, inner ones after theirs."""
    for option in options:
        yield option
        yield from walk(option.get("options") or [])
