"""Bilingual help: the pages of `--help` in the user's language."""

from typing import Any

from typer.core import TyperCommand, TyperGroup

from opencrab.gateways.cli.language.sentences import CliLanguage, SentenceCatalog
from opencrab.gateways.cli.terminal.options import Options


def _translate(page: Any, context: Any) -> None:
    """Put the help of a command, its options and its commands into the user's language."""
    words = SentenceCatalog(_language_of_context(context))
    own_help = page.get_help_option(context)
    for thing in (page, *page.params, own_help, *getattr(page, "commands", {}).values()):
        if getattr(thing, "help", None):
            thing.help = words.help(thing.help)


def _language_of_context(context: Any) -> CliLanguage:
    root = context.find_root()
    for place in (context, root):
        if isinstance(said := place.params.get("language"), CliLanguage):
            return said
    if isinstance(root.obj, Options):
        return root.obj.language
    locale = next(option for option in root.command.params if option.name == "locale")
    return CliLanguage.of(locale.resolve_envvar_value(root))


class BilingualCommand(TyperCommand):
    """A command whose help speaks the user's language."""

    def get_help(self, ctx: Any) -> str:
        _translate(self, ctx)
        return super().get_help(ctx)


class BilingualGroup(TyperGroup):
    """A group whose help speaks the user's language."""

    def get_help(self, ctx: Any) -> str:
        _translate(self, ctx)
        return super().get_help(ctx)
