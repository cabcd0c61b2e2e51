"""The command that runs OpenCrab on this computer."""

from pathlib import Path
from typing import Annotated

import typer

from opencrab.gateways.cli.terminal.options import UpOptions


def up(
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
        typer.Option("--data", show_default="data", help="The folder for all data."),
    ] = None,
    provider: Annotated[
        str | None,
        typer.Option("--provider", metavar="NAME[:MODEL]", help="The model to use."),
    ] = None,
    *,
    open_page: Annotated[
        bool, typer.Option("--open", help="Open the page in a browser, signed in.")
    ] = False,
) -> None:
    """Run OpenCrab on this computer."""
    options = UpOptions(
        port=port,
        host=host,
        data=data or context.obj.data,
        provider=provider,
        language=context.obj.language,
        opens_page=open_page,
    )
    raise typer.Exit(context.obj.launch(options))
