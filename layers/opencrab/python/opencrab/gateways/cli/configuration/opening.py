"""The settings files as the terminal shows them: opened at their places, without any secret."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from opencrab.domain.configuration.rule import SECRET_NAME
from opencrab.domain.errors import Unavailable
from opencrab.gateways.cli.terminal.terminal import Terminal

if TYPE_CHECKING:
    from opencrab.ports.installation.configuration import Configuration, SettingView

_USER = re.compile(r"://[^?#\s]*@")
_PARAMETER = re.compile(r"([?&][^=&#\s]+=)[^&#\s]+")
_HIDDEN = "***"


def open_terminal_configuration(terminal: Terminal) -> "Configuration":
    """Open the settings files; raises Unavailable if this program cannot."""
    if terminal.options.configuration is None:
        raise Unavailable("the settings cannot be read", cure="install the full OpenCrab package")
    return terminal.options.configuration(terminal.options.places)


def setting_view_without_secrets(setting: "SettingView") -> dict[str, object]:
    """Return a setting as it is shown: name, value and source."""
    value = hide_secret_settings(setting.name, setting.value)
    return {"name": setting.name, "value": value, "from": setting.source}


def hide_secret_settings(name: str, value: object) -> object:
    """Return a setting's value, with stars in place of a secret that is set."""
    if isinstance(value, Mapping):
        return {key: hide_secret_settings(str(key), inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [hide_secret_settings(name, inner) for inner in value]
    last = name.rpartition(".")[2].lower()
    # Headers that the environment gives are one text.
    if (SECRET_NAME.search(last) or last == "headers") and value:
        return _HIDDEN
    return _hide_in_addresses(value) if isinstance(value, str) else value


def _hide_in_addresses(text: str) -> str:
    """Return a text without the users, passwords and parameters of addresses in it."""
    if "://" not in text:
        return text
    return _PARAMETER.sub(rf"\1{_HIDDEN}", _USER.sub(f"://{_HIDDEN}@", text))
