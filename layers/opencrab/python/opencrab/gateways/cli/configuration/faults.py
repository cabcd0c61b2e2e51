"""Faults of settings files as a terminal shows them."""

from pathlib import Path
from typing import TYPE_CHECKING

from opencrab.domain.errors import Invalid, NotFound, Unavailable
from opencrab.gateways.cli.configuration.opening import configuration_fault_line
from opencrab.gateways.cli.terminal.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opencrab.ports.installation.configuration import ConfigurationFault
    from opencrab.ports.installation.deployed_settings import DeployedSettings


def deployed_settings_of_terminal(terminal: Terminal) -> "DeployedSettings":
    """Return the settings files of installations on AWS; raises Unavailable if it cannot."""
    if terminal.options.deployed_settings is None:
        raise Unavailable("AWS cannot be reached", cure="install the full OpenCrab package")
    return terminal.options.deployed_settings()


def deployed_settings_file(
    terminal: Terminal, path: Path
) -> "tuple[bytes, Sequence[ConfigurationFault]]":
    """Return a file's content, and what is wrong with it for AWS; raises NotFound, Invalid."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise NotFound(f"there is no file {path}", cure="correct its name") from None
    except OSError as error:
        why = error.strerror or str(error)
        cure = "make it a file that you can read"
        raise Invalid(f"{path} cannot be read: {why}", cure=cure) from error
    faults = deployed_settings_of_terminal(terminal).faults(
        str(path), content, str(terminal.options.language)
    )
    return content, faults


def print_settings_faults(terminal: Terminal, faults: "Sequence[ConfigurationFault]") -> None:
    """Print faults of settings files, each with file, line and what to do."""
    for each in faults:
        terminal.print_complaint(configuration_fault_line(each))
        if each.cure:
            terminal.print_complaint(f"  → {each.cure}")
