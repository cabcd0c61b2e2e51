"""The command that shows the settings that are in effect here, and where each comes from."""

import json
import re
from collections.abc import Mapping
from typing import Annotated

from opencrab.domain.errors import NotFound, Unavailable
from opencrab.gateways.cli.terminal.arguments import cli_argument
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.terminal import Terminal

_SECRET = re.compile(r"(^|[_-])(key|secret|token|password|authorization|auth|cookie)$")
_USER = re.compile(r"://[^?#\s]*@")
_PARAMETER = re.compile(r"([?&][^=&#\s]+=)[^&#\s]+")
_HIDDEN = "***"


@cli_command
def show_settings(
    terminal: Terminal,
    name: Annotated[
        str, cli_argument("A setting or a section, such as llm.providers.", "NAME")
    ] = "",
) -> None:
    """Show the settings that `opencrab up` would use here, and where each comes from."""
    if terminal.options.settings is None:
        raise Unavailable("the settings cannot be read", cure="install the full OpenCrab package")
    found = [
        {"name": each, "value": _hide_secrets(each, value), "from": origin}
        for each, value, origin in terminal.options.settings()
        if not name or f"{each}.".startswith(f"{name.rstrip('.')}.")
    ]
    if not found:
        raise NotFound(
            terminal.words("no_setting", name=name), cure=terminal.words("no_setting_cure")
        )
    terminal.show(found, _draw)


def _hide_secrets(name: str, value: object) -> object:
    """Return a value, with stars in place of a secret that is set."""
    if isinstance(value, Mapping):
        return {key: _hide_secrets(str(key), inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_hide_secrets(name, inner) for inner in value]
    last = name.rpartition(".")[2].lower()
    # Headers that the environment gives are one text.
    if (_SECRET.search(last) or last == "headers") and value:
        return _HIDDEN
    return _hide_in_addresses(value) if isinstance(value, str) else value


def _hide_in_addresses(text: str) -> str:
    """Return a text without the users, passwords and parameters of addresses in it."""
    if "://" not in text:
        return text
    return _PARAMETER.sub(rf"\1{_HIDDEN}", _USER.sub(f"://{_HIDDEN}@", text))


def _draw(terminal: Terminal, found: list[dict[str, object]]) -> None:
    rows = [
        (each["name"], json.dumps(each["value"], ensure_ascii=False, default=str), each["from"])
        for each in found
    ]
    terminal.table(("setting", "value", "from"), rows)
