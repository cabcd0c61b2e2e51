"""The command that prints a shell's completion script."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from opencrab.gateways.cli.terminal.arguments import cli_argument
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.terminal import Terminal


class Shell(StrEnum):
    """The shells for which there is a script."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


@cli_command
def print_completion(
    terminal: Terminal, shell: Annotated[Shell, cli_argument("The shell: bash, zsh or fish.")]
) -> None:
    """Print a script that completes commands, options and agents in your shell."""
    script = Path(__file__).parent / f"opencrab.{shell.value}"
    terminal.out.write(script.read_text(encoding="utf-8"))
