"""The command that runs OpenCrab on this computer."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from opencrab.gateways.cli.connection.paths import (
    OLD_DATA,
    fixed_data_folder,
    short_path_text,
)
from opencrab.gateways.cli.language.sentences import SentenceCatalog
from opencrab.gateways.cli.terminal.options import Options, UpOptions

SettingsFile = Annotated[
    Path | None,
    typer.Option(
        "--config", show_default="~/.config/opencrab/config.toml", help="Your settings file."
    ),
]


def run_server_on_this_computer(
    context: typer.Context,
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            min=1,
            max=65_535,
            show_default="8080, or the next free one",
            help="The port to listen on.",
        ),
    ] = None,
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", show_default="~/.local/share/opencrab", help="The folder for all data."
        ),
    ] = None,
    provider: Annotated[
        str | None,
        typer.Option("--provider", metavar="NAME[:MODEL]", help="The model to use."),
    ] = None,
    *,
    config: SettingsFile = None,
    open_page: Annotated[
        bool, typer.Option("--open", help="Open the page in a browser, signed in.")
    ] = False,
) -> None:
    """Run OpenCrab on this computer."""
    given: Options = context.obj
    folder = data or given.data
    if data is None and folder == OLD_DATA and not given.data_named:
        _tell_of_old_folder(given, fixed_data_folder(given.data_home))
    options = replace(
        server_options_of_command(given),
        port=port,
        host=host,
        data=folder,
        provider=provider,
        opens_page=open_page,
        config=config or given.config,
        config_named=given.config_named or config is not None,
    )
    raise typer.Exit(context.obj.launch(options))


def server_options_of_command(given: Options) -> UpOptions:
    """Return the options of a server for the data folder and the settings of a command."""
    return UpOptions(
        data=given.data,
        language=given.language,
        usual_data=given.usual_data,
        config=given.config,
        config_named=given.config_named,
    )


def _tell_of_old_folder(options: Options, fixed: Path) -> None:
    """Tell that the data is in the current folder, and how to move it to where it is found."""
    words = SentenceCatalog(options.language)
    old = short_path_text(OLD_DATA)
    has_other = (fixed / "opencrab.db").exists()
    key = "old_data_and_other" if has_other else "old_data"
    typer.echo(words(key, old=old, fixed=short_path_text(fixed)), err=True)
