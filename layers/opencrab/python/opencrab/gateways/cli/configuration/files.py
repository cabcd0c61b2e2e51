"""Commands about the owner's settings files: read, change, check and compare them."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opencrab.domain.configuration.hidden_value import hide_secret_settings
from opencrab.domain.errors import Invalid, NotFound
from opencrab.gateways.cli.configuration.faults import (
    deployed_settings_file,
    print_settings_faults,
)
from opencrab.gateways.cli.configuration.opening import (
    open_terminal_configuration,
    setting_view_without_secrets,
)
from opencrab.gateways.cli.scripting.exit_code import ExitCode
from opencrab.gateways.cli.terminal.arguments import cli_argument, cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.terminal import Terminal

if TYPE_CHECKING:
    from opencrab.ports.installation.configuration import (
        Configuration,
        ConfigurationFault,
        SettingChange,
    )

SettingName = Annotated[str, cli_argument("A setting, such as budget.turn_usd.", "SETTING")]

_FOLLOWED = ("llm.", "mcp.servers.")
"""How settings begin that a running server reads again."""


@cli_command
def get_setting(terminal: Terminal, name: SettingName) -> None:
    """Print the value of a setting, and where it comes from."""
    found = [
        each
        for each in open_terminal_configuration(terminal).settings()
        if f"{each.name}.".startswith(f"{name}.")
    ]
    if not found:
        raise NotFound(
            terminal.words("no_setting", name=name), cure=terminal.words("no_setting_cure")
        )
    views = [setting_view_without_secrets(each) for each in found]
    if terminal.options.json:
        terminal.json(views[0] if len(views) == 1 else views)
        return
    for each in views:
        value = _value_text(each["value"])
        terminal.line(value if len(views) == 1 else f"{each['name']} = {value}")
        terminal.print_note("setting_from", source=each["from"])


@cli_command
def set_setting(
    terminal: Terminal,
    name: SettingName,
    value: Annotated[str, cli_argument("Its new value; items of a list with commas.", "VALUE")],
) -> None:
    """Set a setting in your settings file; comments and order are kept."""
    change = open_terminal_configuration(terminal).set(name, value)
    _print_change(terminal, change, "setting_set", value=_value_text(change.value))


@cli_command
def unset_setting(terminal: Terminal, name: SettingName) -> None:
    """Remove a setting from your settings file, so that its default counts."""
    change = open_terminal_configuration(terminal).unset(name)
    _print_change(terminal, change, "setting_unset")


@cli_command
def edit_settings(terminal: Terminal) -> None:
    """Open your settings file in your editor, and check it afterwards."""
    from opencrab.gateways.cli.terminal.editor import open_in_editor
    from opencrab.gateways.cli.terminal.input import ask_yes_or_no_on_terminal

    if not terminal.interactive:
        raise Invalid(terminal.words("edit_alone"), cure="opencrab config set SETTING VALUE")
    configuration = open_terminal_configuration(terminal)
    path = configuration.create()
    while True:
        open_in_editor(terminal, path)
        faults = configuration.faults()
        print_settings_faults(terminal, faults)
        if not faults:
            terminal.print_sentence("config_sound", files=str(path))
            return
        if not ask_yes_or_no_on_terminal(terminal.words("edit_again"), default=True):
            raise typer.Exit(ExitCode.FAILED)


@cli_command
def check_settings(
    terminal: Terminal,
    file: Annotated[
        Path | None, cli_argument("Another file, such as one to deploy.", "FILE")
    ] = None,
    *,
    deployed: Annotated[bool, cli_option("Check it for AWS, as `config push` does.")] = False,
) -> None:
    """Check the settings files, and list all that is wrong at once."""
    configuration = open_terminal_configuration(terminal)
    if deployed:
        faults = deployed_settings_file(terminal, file or configuration.written)[1]
    else:
        faults = configuration.faults(file)
    if terminal.options.json:
        terminal.json([_fault_view(each) for each in faults])
    elif faults:
        print_settings_faults(terminal, faults)
    else:
        terminal.print_sentence("config_sound", files=_files_text(terminal, configuration, file))
    if faults:
        raise typer.Exit(ExitCode.FAILED)


@cli_command
def show_settings_paths(terminal: Terminal) -> None:
    """Show where the settings files and the data folder are."""
    configuration = open_terminal_configuration(terminal)
    data = terminal.options.data.absolute()
    views: list[dict[str, Any]] = [
        {"path": str(each), "exists": each.is_file(), "changed": each == configuration.written}
        for each in configuration.files
    ]
    if terminal.options.json:
        terminal.json({"files": views, "data": str(data)})
        return
    for each in views:
        state = "path_missing" if not each["exists"] else "path_read"
        marks = [terminal.words(state)]
        if each["changed"]:
            marks.append(terminal.words("path_changed"))
        terminal.line(f"{each['path']} ({', '.join(marks)})")
    terminal.print_sentence("path_data", path=str(data))


@cli_command
def print_settings_schema(terminal: Terminal) -> None:
    """Print the JSON Schema of settings files, with which editors complete and check them."""
    schema = open_terminal_configuration(terminal).schema()
    if terminal.options.json:
        terminal.json(json.loads(schema))
    else:
        terminal.line(schema.rstrip())


@cli_command
def show_settings_difference(terminal: Terminal) -> None:
    """Show the settings that differ from the defaults, and where each comes from."""
    found = [
        setting_view_without_secrets(each)
        | {"default": hide_secret_settings(each.name, each.default)}
        for each in open_terminal_configuration(terminal).own()
        if each.value != each.default
    ]
    terminal.show_list(found, _draw_difference, "config_no_difference")


def _draw_difference(terminal: Terminal, found: "list[dict[str, Any]]") -> None:
    rows = [
        (each["name"], _value_text(each["value"]), _value_text(each["default"]), each["from"])
        for each in found
    ]
    terminal.table(("setting", "value", "default", "from"), rows)


def _print_change(terminal: Terminal, change: "SettingChange", key: str, **facts: object) -> None:
    view = {"name": change.name, "value": change.value, "file": str(change.file)}
    terminal.print_result(view, key, name=change.name, file=str(change.file), **facts)
    if change.overridden_by:
        terminal.print_note("setting_overridden", name=change.name, source=change.overridden_by)
    else:
        is_followed = change.name.startswith(_FOLLOWED) and change.name != "llm.prices_url"
        terminal.print_note("setting_at_once" if is_followed else "setting_at_start")


def _fault_view(fault: "ConfigurationFault") -> dict[str, object]:
    return {
        "file": str(fault.file),
        "line": fault.line or None,
        "setting": fault.name or None,
        "message": fault.what,
        "cure": fault.cure,
    }


def _files_text(terminal: Terminal, configuration: "Configuration", file: Path | None) -> str:
    there = [each for each in configuration.files if each.is_file()] if file is None else [file]
    return ", ".join(map(str, there)) or terminal.words("config_no_file")


def _value_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
