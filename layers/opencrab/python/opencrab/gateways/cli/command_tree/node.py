"""One command or group of the tree: its name, what runs it, and where help lists it."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

_PACKAGE = "opencrab.gateways.cli"

Run = Callable[..., None]


@dataclass(frozen=True)
class CommandNode:
    """A command, or a group if it has commands; a group that also runs lists its items.

    `runs` is a function, or names one below this package, such as `agents.agents:list_agents`;
    `table` names a dictionary of functions by their names. `purpose` is the help of a group, and of
    a command that help lists without loading it. `section` is the key of a heading in help.
    A hidden node is an older name: it works, and `replaced_by` is the name now.
    """

    name: str
    purpose: str = ""
    runs: Run | str = ""
    commands: tuple["CommandNode", ...] = ()
    table: str = ""
    section: str = ""
    hidden: bool = False
    replaced_by: str = ""

    @property
    def is_group(self) -> bool:
        """True if the node has commands of its own."""
        return bool(self.commands or self.table)

    def function(self) -> Run:
        """Load the function that runs the command."""
        run: Run = self.runs if callable(self.runs) else _load(self.runs)
        return run

    def members(self) -> tuple["CommandNode", ...]:
        """Return the nodes below; those of a table load its module."""
        if not self.table:
            return self.commands
        listed = _load(self.table).items()
        return (*(CommandNode(name, runs=run) for name, run in listed), *self.commands)


def _load(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(f"{_PACKAGE}.{module}"), name)
