"""The settings files as the terminal shows them: opened at their places, without any secret."""

from typing import TYPE_CHECKING

from opencrab.domain.configuration.hidden_value import hide_secret_settings
from opencrab.domain.errors import Unavailable
from opencrab.gateways.cli.terminal.terminal import Terminal

if TYPE_CHECKING:
    from opencrab.ports.installation.configuration import (
        Configuration,
        ConfigurationFault,
        SettingView,
    )


def open_terminal_configuration(terminal: Terminal) -> "Configuration":
    """Open the settings files; raises Unavailable if this program cannot."""
    if terminal.options.configuration is None:
        raise Unavailable("the settings cannot be read", cure="install the full OpenCrab package")
    return terminal.options.configuration(terminal.options.places)


def configuration_fault_line(fault: "ConfigurationFault") -> str:
    """Return what is wrong, after the file and the line if it is in a file."""
    where = f"{fault.file}:{fault.line}: " if fault.line else f"{fault.file}: "
    is_of_file = bool(fault.line) or not fault.name
    return f"{where}{fault.what}" if is_of_file and where not in fault.what else fault.what


def setting_view_without_secrets(setting: "SettingView") -> dict[str, object]:
    """Return a setting as it is shown: name, value and source."""
    value = hide_secret_settings(setting.name, setting.value)
    return {"name": setting.name, "value": value, "from": setting.source}
