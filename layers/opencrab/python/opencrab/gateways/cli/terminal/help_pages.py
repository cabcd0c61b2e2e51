"""Help pages and errors of usage in the user's language.

typer writes both in English alone: what it says around our texts is replaced, line by line.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
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


class _TranslatedUsageError(_UsageError):  # type: ignore[misc]
    """A usage error in the user's language, with a hint to the help."""

    def show(self, file: Any = None) -> None:
        context = self.ctx
        words = terminal_words_of_context(context)
        help_of = f"{context.command_path} {context.help_option_names[0]}"
        # Most command lines are right, and do without this.
        from opencrab.gateways.cli.language.usage_errors import (
            likely_command_line,
            usage_error_text,
        )

        message = usage_error_text(self.message, words, has_group=context.parent is not None)
        hint = likely_command_line(self.message, context, words)
        hint = hint or words("usage_try", command=help_of)
        if context.meta.get(_JSON):
            lines = [terminal_json_line({"error": error_json_for_scripts(USAGE, message, hint)})]
        else:
            usage = _with_local_headings(context.get_usage(), words)
            lines = [usage, hint, "", words("usage_error", message=message)]
        typer.echo("\n".join(lines), file=file, err=True)


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
