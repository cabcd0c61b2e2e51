"""What is said of a wrong command line, and which one was probably meant."""

import re
from shlex import quote
from typing import Any

from opencrab.gateways.cli.language.sentences import SentenceCatalog

_MESSAGES = {
    r"No such command '(?P<name>.*)'\. Did you mean (?P<likely>.*)\?": "usage_likely_command",
    r"Missing command\.": "usage_no_command",
    r"No such command '(?P<name>.*)'\.": "usage_unknown_command",
    r"No such option: (?P<name>\S+)": "usage_unknown_option",
    r"No such option: (?P<name>\S+) \(Possible options: (?P<likely>.*)\)": "usage_likely_option",
    r"Missing argument '(?P<name>.*)'\.": "usage_missing_argument",
    r"Missing option '(?P<name>.*)'\.": "usage_missing_option",
    r"Option '(?P<name>.*)' requires an argument\.": "usage_option_needs_value",
    r"Option '(?P<name>.*)' does not take a value\.": "usage_option_takes_none",
    r"Got unexpected extra arguments?(?:\(s\))? \((?P<name>.*)\)": "usage_extra_arguments",
}
_VALUES = {
    r".*'(?P<value>.*)' is not one of (?P<choices>.*?)\.?": "usage_one_of",
    r"Input should be a valid integer.*": "usage_integer",
    r"Input should be a valid number.*": "usage_number",
    r"Input should be greater than or equal to (?P<least>.*)": "usage_at_least",
    r"Input should be less than or equal to (?P<most>.*)": "usage_at_most",
}
_NAMING = {"agent": "usage_name_agent", "name": "usage_name_name"}
"""Options that people leave out before a name, and the hint to each."""

_WORDS_ELSEWHERE = {"ask": "chat", "say": "chat", "talk": "chat", "start": "up", "serve": "up"}
"""Words by which other programs call what a command of ours does, which has no group."""

_UNREADABLE = ("Input should", "Value error")
"""How what pydantic says begins; our own commands speak the user's language themselves."""
_INVALID = re.compile(r"Invalid value for (?P<name>.*?): (?P<why>.*)", re.DOTALL)


def likely_command_line(message: str, context: Any, words: SentenceCatalog) -> str:
    """Return the command line that was probably meant, in a sentence; "" if nobody knows."""
    path, command = context.command_path, context.command
    if unknown := re.fullmatch(r"No such command '(.*)'\.", message):
        has_run = "run" in getattr(command, "commands", {})
        return words("usage_run_it", command=f"{path} run {quote(unknown[1])} …") if has_run else ""
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    alone = re.match(r"No such option: --agent\b", message)
    if alone and "agent" in {each.name for each in arguments}:
        return words("usage_agent_alone", command=f"{path} AGENT")
    found = re.fullmatch(r"Got unexpected extra \S+ \((.*)\)", message)
    unset = [each for each in _NAMING if context.params.get(each, "") is None]
    option = unset[0] if unset else ""
    if found is None or not option:
        return ""
    if not arguments:
        line = f"{path} --{option} {quote(found[1])}"
        return words(_NAMING[option], command=line)
    first = context.params.get(arguments[0].name)
    if option != "agent" or len(arguments) > 1 or not isinstance(first, str):
        return ""
    line = f"{path} --agent {quote(first)} {quote(found[1])}"
    return words("usage_agent_or_quotes", command=line)


def usage_error_text(message: str, words: SentenceCatalog, *, has_group: bool) -> str:
    """Translate typer's message about a command line; `has_group` is false for the program."""
    if not has_group and (meant := _meant_command(message, words)):
        return meant
    if invalid := _INVALID.fullmatch(message):
        why = _message_from(_VALUES, invalid["why"], words)
        if why is None and invalid["why"].startswith(_UNREADABLE):
            why = words("usage_unreadable")
        return words("usage_invalid", name=invalid["name"].strip("'"), why=why or invalid["why"])
    return _message_from(_MESSAGES, message, words) or message


def _meant_command(message: str, words: SentenceCatalog) -> str | None:
    """Return what to say to whoever typed another program's word for a command of ours."""
    found = re.match(r"No such command '(\w+)'", message)
    if found is None or found[1] not in _WORDS_ELSEWHERE:
        return None
    likely = repr(_WORDS_ELSEWHERE[found[1]])
    return words("usage_likely_command", name=found[1], likely=likely)


def _message_from(known: dict[str, str], message: str, words: SentenceCatalog) -> str | None:
    for pattern, key in known.items():
        if found := re.fullmatch(pattern, message, re.DOTALL):
            return words(key, **found.groupdict())
    return None
