"""Words for the values of options in help: `--url ADDRESS`, not `--url <str>`."""

from typing import Any

_BY_NAME = {
    "data": "DIR",
    "directory": "DIR",
    "hours": "HOURS",
    "interval": "SECONDS",
    "key": "KEY",
    "language": "LANGUAGE",
    "model": "MODEL",
    "name": "NAME",
    "policy": "NAME",
    "port": "PORT",
    "host": "ADDRESS",
    "session": "SESSION",
    "speaker": "NAME",
    "stage": "STAGE",
    "url": "ADDRESS",
    "zone": "ZONE",
    "budget": "USD",
    "budget_usd": "USD",
    "shown": "HASH",
    "action": "ACTION",
    "tasks": "FILE",
    "seed": "NUMBER",
}
_BY_TYPE = {"str": "TEXT", "int": "NUMBER", "float": "NUMBER", "Path": "PATH", "datetime": "TIME"}


def name_values_of_command_options(command: Any) -> None:
    """Give every option a word for its value, unless it has one; an argument is its own word.

    Choices stay, as help lists them.
    """
    for parameter in command.params:
        if parameter.type_descriptor.is_choice:
            continue
        if parameter.param_type_name == "argument":
            parameter.display_type_rich = _no_type
        elif parameter.metavar is None and not parameter.is_flag:
            parameter.metavar = _word(parameter)


def _no_type(**_named: object) -> None:
    """Replace what typer shows behind an argument's name, such as `<str>`."""


def _word(parameter: Any) -> str:
    kind = parameter.type_descriptor.annotation
    inner = getattr(kind, "__args__", None) or (kind,)
    named = _BY_TYPE.get(getattr(inner[0], "__name__", ""), "TEXT")
    return _BY_NAME.get(parameter.name, named)
