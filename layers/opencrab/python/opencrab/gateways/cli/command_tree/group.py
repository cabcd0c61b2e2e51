"""Groups of commands that load a command when it is called, and list commands in sections."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from inspect import getdoc
from itertools import groupby
from typing import Any

import typer
from typer.main import get_command, get_group

from opencrab.gateways.cli.command_tree.node import CommandNode
from opencrab.gateways.cli.command_tree.option_values import name_values_of_command_options
from opencrab.gateways.cli.language.sentences import SentenceCatalog
from opencrab.gateways.cli.terminal.help_pages import (
    TranslatedCommand,
    TranslatedGroup,
    terminal_words_of_context,
)

_COMMANDS = "help_commands"


class LazyCommands(Mapping[str, Any]):
    """The commands below a node by their names; each is built when it is first asked for."""

    def __init__(self, node: CommandNode) -> None:
        self._node = node
        self._built: dict[str, Any] = {}

    @cached_property
    def nodes(self) -> dict[str, CommandNode]:
        """The nodes by their names."""
        nodes = {node.name: node for node in self._node.members()}
        runs = "" if self._node.hidden else self._node.runs
        if isinstance(runs, str) and runs.partition(":")[2].startswith(("list_", "show_")):
            # The group alone lists or shows; who knows other groups types the word for it.
            for name in ("list", "show"):
                nodes.setdefault(name, CommandNode(name, self._node.purpose, runs, hidden=True))
        return nodes

    def __getitem__(self, name: str) -> Any:
        if name not in self._built:
            self._built[name] = _build_command(self.nodes[name])
        return self._built[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)


class CommandGroup(TranslatedGroup):
    """A group whose commands are those of a node; help leaves out the hidden ones."""

    node: CommandNode

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.lazy = LazyCommands(self.node)
        self.commands: Any = self.lazy
        name_values_of_command_options(self)

    def visible_nodes(self) -> list[CommandNode]:
        """Return the nodes that help and completion show."""
        return [node for node in self.lazy.nodes.values() if not node.hidden]

    def purpose_of(self, node: CommandNode) -> str:
        """Return a node's help in English; only a node without a purpose is loaded for it."""
        if node.purpose or not node.runs:
            return node.purpose
        # Building the command, with all its options, takes longer than loading its function.
        return getdoc(node.function()) or ""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a list for each section, in the order of the tree."""
        words = terminal_words_of_context(ctx)
        # A group that is an older name itself has only older names.
        shown = self.visible_nodes() or list(self.lazy.nodes.values())
        width = max((len(node.name) for node in shown), default=0)
        for section, nodes in groupby(shown, key=lambda node: node.section or _COMMANDS):
            rows = [(node.name.ljust(width), self._row_text(node, words)) for node in nodes]
            with formatter.section(words(section)):
                formatter.write_dl(rows)

    def _row_text(self, node: CommandNode, words: SentenceCatalog) -> str:
        purpose = words.help(self.purpose_of(node))
        if not node.replaced_by:
            return purpose
        return words("older_name", purpose=purpose, new=f"opencrab {node.replaced_by}")


def _group_class(node: CommandNode) -> type[CommandGroup]:
    """Return the class of a group with a node's commands; typer makes the group itself."""
    return type("CommandGroup", (CommandGroup,), {"node": node})


def command_tree_typer_app(
    node: CommandNode, kind: type[CommandGroup] | None = None
) -> typer.Typer:
    """Return an empty typer program in this program's style, of a node's group if it is one."""
    return typer.Typer(
        name=node.name,
        cls=kind or (_group_class(node) if node.is_group else None),
        help=node.purpose or None,
        no_args_is_help=node.is_group and not node.runs,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def _build_command(node: CommandNode) -> Any:
    """Load a node's function and return the command that typer makes of it."""
    app = command_tree_typer_app(node)
    if not node.is_group:
        app.command(node.name, cls=TranslatedCommand, help=node.purpose or None)(node.function())
        command: Any = get_command(app)
        name_values_of_command_options(command)
    else:
        if node.runs:
            app.callback(invoke_without_command=True)(node.function())
        command = get_group(app)
    command.hidden = node.hidden
    command.replaced_by = node.replaced_by
    return command
