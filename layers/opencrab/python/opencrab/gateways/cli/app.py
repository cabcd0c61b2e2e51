"""The `opencrab` program: its commands put together.

A command is loaded when it is called; `command_tree/tree.py` names all of them.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from opencrab import __version__
from opencrab.gateways.cli.command_tree.group import CommandGroup, command_tree_typer_app
from opencrab.gateways.cli.command_tree.tree import ROOT
from opencrab.gateways.cli.terminal.command import (
    cli_parameter,
    common_cli_options,
    root_cli_options,
    terminal_command_signature,
    terminal_environment_options,
)
from opencrab.gateways.cli.terminal.help_pages import terminal_words_of_context
from opencrab.gateways.cli.terminal.options import Launch, Options

COMPLETE = "__complete"
"""The word by which completion scripts ask; what follows is read without typer, which is slow."""


def build_cli_app(launch: Launch, outside: Options | None = None) -> typer.Typer:
    """Return the program; `launch` runs OpenCrab, `outside` has settings that no option sets."""
    options = replace(outside or Options(), launch=launch)
    app = command_tree_typer_app(
        ROOT, type("Program", (_Program,), {"node": ROOT, "outside": options})
    )
    app.callback()(_root(options))
    return app


class _Program(CommandGroup):
    """The group of all commands; it also answers the completion scripts."""

    outside: Options

    def main(self, args: Sequence[str] | None = None, *given: Any, **named: Any) -> Any:
        """Run the command line, or answer a completion script."""
        asked = sys.argv[1:] if args is None else list(args)
        if asked[:1] != [COMPLETE]:
            return super().main(args, *given, **named)
        from opencrab.gateways.cli.completion.candidates import shell_completion_answer

        typer.echo(shell_completion_answer(self, asked[1:], self._options_of_environment()))
        sys.exit(0)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write what the exit codes mean, and where all of it is written."""
        formatter.write_paragraph()
        formatter.write_text(terminal_words_of_context(ctx)("help_exit_codes"))

    def _options_of_environment(self) -> Options:
        """Return the options as the environment sets them, without reading a command line."""
        context = typer.Context(self)
        given: dict[str, Any] = {
            each.name: each.resolve_envvar_value(context) or each.default for each in self.params
        }
        data = given["data"]
        return root_cli_options(given | {"data": data and Path(data)}, self.outside)


def _root(outside: Options) -> Callable[..., None]:
    def root(context: typer.Context, **given: Any) -> None:
        context.obj = root_cli_options(given, outside)

    version = cli_parameter(
        "version",
        bool,
        default=False,
        is_eager=True,
        callback=_show_version,
        help="Show the version.",
    )
    return terminal_command_signature(
        root, common_cli_options(root=True) | terminal_environment_options() | version
    )


def _show_version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it so
    if wanted:
        typer.echo(f"opencrab {__version__}")
        raise typer.Exit
