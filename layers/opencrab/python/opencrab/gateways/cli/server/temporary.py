"""OpenCrab for as long as one command needs it, where none runs on this computer yet."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException

from opencrab.domain.errors import OpenCrabError
from opencrab.gateways.cli.connection.address import find_server_address
from opencrab.gateways.cli.connection.local_list import require_server_of_folder
from opencrab.gateways.cli.server.up import server_options_of_command
from opencrab.gateways.cli.terminal.terminal import Terminal

_SECONDS = 2.0


def is_server_running_here(terminal: Terminal) -> bool:
    """Check whether OpenCrab runs on the data folder, or an address elsewhere was given."""
    options = terminal.options
    if options.url is not None:
        return True
    try:
        address = find_server_address(data=options.data, key=options.key)
        if address.is_here:
            require_server_of_folder(address, options.data, _SECONDS)
    except (OpenCrabError, OSError, HTTPException, ValueError):
        return False
    return True


@contextmanager
def server_for_command(terminal: Terminal, note: str) -> Iterator[None]:
    """Run OpenCrab within the block if none runs here yet, and tell so with a sentence's key."""
    start = terminal.options.start_server
    if start is None or is_server_running_here(terminal):
        yield
        return
    terminal.print_note(note)
    with start(server_options_of_command(terminal.options)):
        yield
