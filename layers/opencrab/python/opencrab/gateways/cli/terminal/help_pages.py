"""Help pages and errors of usage in the user's language.

typer writes both in English alone: what it says around our texts is replaced, line by line.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from shlex import quote
from typing import Any

import typer
from typer import BadParameter
from typer.core import TyperCommand, TyperGroup

from opencrab.gateways.cli.language.sentences import CliLanguage, SentenceCatalog, cli_languages
from opencrab.gateways.cli.scripting.error_json import USAGE, error_json_for_scripts
from opencrab.gateways.cli.terminal.options import Options
from opencrab.gateways.cli.terminal.text import terminal_json_line

_JSON = "opencrab.json"
"""The entry of a context that says that `--json` was given, also where parsing failed."""

_LANGUAGE = "opencrab.language"
"""The entry of a context with the value of `--language`, also if it stands after `--help`."""

_UsageError: Any = BadParameter.__base__
"""What typer raises for a wrong command line; it has no public name for it."""

_HEADINGS = {
    "Usage: ": "usage_line",
    "Options:": "usage_options",
    "Arguments:": "usage_arguments",
    "Commands:": "usage_commands",
}
_MARKS = {
    "[env var: ": "usage_env_var",
    "[default:": "usage_default",
    "[required]": "usage_required",
}
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


def _terminal_usage_message(message: str, words: SentenceCatalog) -> str:
    """Translate typer's message about a command line."""
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


class _TranslatedUsageError(_UsageError):  # type: ignore[misc]
    """A usage error in the user's language, with a hint to the help."""

    def show(self, file: Any = None) -> None:
        context = self.ctx
        words = terminal_words_of_context(context)
        help_of = f"{context.command_path} {context.help_option_names[0]}"
        meant = None if context.parent else _meant_command(self.message, words)
        message = meant or _terminal_usage_message(self.message, words)
        hint = self._likely_line(words) or words("usage_try", command=help_of)
        if context.meta.get(_JSON):
            lines = [terminal_json_line({"error": error_json_for_scripts(USAGE, message, hint)})]
        else:
            usage = _with_local_headings(context.get_usage(), words)
            lines = [usage, hint, "", words("usage_error", message=message)]
        typer.echo("\n".join(lines), file=file, err=True)

    def _likely_line(self, words: SentenceCatalog) -> str:
        """Return the command line that was probably meant, in a sentence; "" if nobody knows."""
        path, command = self.ctx.command_path, self.ctx.command
        if unknown := re.fullmatch(r"No such command '(.*)'\.", self.message):
            if "run" not in getattr(command, "commands", {}):
                return ""
            return words("usage_run_it", command=f"{path} run {quote(unknown[1])} …")
        found = re.fullmatch(r"Got unexpected extra \S+ \((.*)\)", self.message)
        unset = [each for each in _NAMING if self.ctx.params.get(each, "") is None]
        option = unset[0] if unset else ""
        if found is None or not option:
            return ""
        arguments = [each for each in command.params if each.param_type_name == "argument"]
        if not arguments:
            line = f"{path} --{option} {quote(found[1])}"
            return words(_NAMING[option], command=line)
        first = self.ctx.params.get(arguments[0].name)
        if option != "agent" or len(arguments) > 1 or not isinstance(first, str):
            return ""
        line = f"{path} --agent {quote(first)} {quote(found[1])}"
        return words("usage_agent_or_quotes", command=line)


def _remember_options(context: Any, args: list[str]) -> None:
    words = args[: args.index("--")] if "--" in args else args
    context.meta[_JSON] = context.meta.get(_JSON, False) or "--json" in words
    for word, value in pairwise([*(part for each in words for part in each.split("=", 1)), ""]):
        if word == "--language" and value in cli_languages():
            context.meta[_LANGUAGE] = value


@contextmanager
def _usage_errors_with_local_headings(context: Any) -> Iterator[None]:
    try:
        yield
    except _UsageError as error:
        if isinstance(error, _TranslatedUsageError) or not hasattr(error, "message"):
            raise
        # The help page itself, which a group without a command shows; typer does not export it.
        if type(error).__name__ == "NoArgsIsHelpError":
            raise
        raise _TranslatedUsageError(error.format_message(), error.ctx or context) from error


def _with_local_headings(page: str, words: SentenceCatalog) -> str:
    """Translate the headings of typer's help page, and what it says behind an option."""
    for heading, key in _HEADINGS.items():
        page = re.sub(f"^{heading}", words(key), page, flags=re.MULTILINE)
    for mark, key in _MARKS.items():
        page = page.replace(mark, words(key))
    return page


def _translate(page: Any, context: Any) -> SentenceCatalog:
    """Put the help of a command and its options into the user's language."""
    words = terminal_words_of_context(context)
    own_help = page.get_help_option(context)
    for thing in (page, *page.params, own_help):
        if getattr(thing, "help", None):
            thing.help = words.help(thing.help)
    return words


def terminal_words_of_context(context: Any) -> SentenceCatalog:
    """Return the catalog of the language that the command line or the locale names."""
    return SentenceCatalog(_language_of_context(context))


def _language_of_context(context: Any) -> CliLanguage:
    root = context.find_root()
    for place in (context, root):
        if said := place.params.get("language"):
            return CliLanguage.of(said)
    if said := context.meta.get(_LANGUAGE):
        return CliLanguage.of(said)
    if isinstance(root.obj, Options):
        return root.obj.language
    locale = next(option for option in root.command.params if option.name == "locale")
    return CliLanguage.of(locale.resolve_envvar_value(root))


class TranslatedCommand(TyperCommand):
    """A command whose help and errors of usage speak the user's language."""

    def get_help(self, ctx: Any) -> str:
        words = _translate(self, ctx)
        return _with_local_headings(super().get_help(ctx), words)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _remember_options(ctx, args)
        with _usage_errors_with_local_headings(ctx):
            return super().parse_args(ctx, args)


class TranslatedGroup(TyperGroup):
    """A group whose help and errors of usage speak the user's language."""

    def get_help(self, ctx: Any) -> str:
        words = _translate(self, ctx)
        return _with_local_headings(super().get_help(ctx), words)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _remember_options(ctx, args)
        with _usage_errors_with_local_headings(ctx):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        with _usage_errors_with_local_headings(ctx):
            return super().invoke(ctx)
