"""The `opencrab` program: its commands put together.

A command is loaded when it is called; `command_tree/tree.py` names all of them.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import typer

from opencrab import __version__
from opencrab.gateways.cli.command_tree.group import typer_app
from opencrab.gateways.cli.command_tree.tree import ROOT
from opencrab.gateways.cli.terminal.command import (
    cli_parameter,
    common_cli_options,
    environment_options,
    root_cli_options,
    with_typer_signature,
)
from opencrab.gateways.cli.terminal.options import Launch, Options


def build_cli(launch: Launch, outside: Options | None = None) -> typer.Typer:
    """Return the program; `launch` runs OpenCrab, `outside` has settings that no option sets."""
    app = typer_app(ROOT)
    app.callback()(_root(replace(outside or Options(), launch=launch)))
    return app


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
    return with_typer_signature(
        root, common_cli_options(root=True) | environment_options() | version
    )


def _show_version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it so
    if wanted:
        typer.echo(f"opencrab {__version__}")
        raise typer.Exit
