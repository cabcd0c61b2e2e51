"""Candidates: what can follow a command line that is not finished, from the tree of commands.

Names of agents come from the server if it answers within a second, without a word if it does not.
"""

import shlex
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Thread
from typing import Any

from opencrab.gateways.cli.language.sentences import SentenceCatalog
from opencrab.gateways.cli.terminal.options import Options
from opencrab.gateways.cli.terminal.text import truncate_terminal_line

SECONDS = 1.0
_HELP_LENGTH = 80
_AGENT = "AGENT"
_PATHS = {"DIR", "FILE", "PATH"}
_SERVER = {"url", "key", "data"}

Value = tuple[str, str]
"""A candidate and its help."""


@dataclass(frozen=True)
class Candidates:
    """The values, or that the shell completes `files` itself, or `none`."""

    kind: str
    values: tuple[Value, ...] = ()


@dataclass
class CommandLine:
    """The words that are finished: the command they name, and what its next value is for."""

    command: Any
    waiting: Any = None
    arguments: int = 0
    options: bool = True
    unknown: bool = False
    given: dict[str, str] = field(default_factory=dict)

    def take(self, word: str) -> None:
        """Read one finished word; bash gives `=` as a word of its own."""
        if self.waiting is not None:
            if word != "=":
                self.given[self.waiting.name] = word
                self.waiting = None
        elif self.options and word == "--":
            self.options = False
        elif self.options and word.startswith("-"):
            self._take_option(*word.partition("="))
        elif word in getattr(self.command, "commands", {}):
            self.command, self.arguments = self.command.commands[word], 0
        elif hasattr(self.command, "commands"):
            self.unknown = True
        else:
            self.arguments += 1

    def _take_option(self, name: str, equals: str, value: str) -> None:
        option = _option(self.command, name)
        if option is not None and not option.is_flag:
            self.waiting = option
            if equals:
                self.take(value)

    def argument(self) -> Any:
        """Return the positional argument that the next word is for, or None."""
        places = [each for each in self.command.params if each.param_type_name == "argument"]
        if self.arguments < len(places):
            return places[self.arguments]
        return places[-1] if places and places[-1].nargs == -1 else None


def shell_completion_answer(root: Any, arguments: list[str], options: Options) -> str:
    """Return what a completion script is answered: a kind, and a value and its help on each line.

    The words stand behind `--`; with `--quoted` before it they have the quotes of the shell's line.
    """
    place = arguments.index("--") if "--" in arguments else len(arguments)
    words = arguments[place + 1 :]
    if "--quoted" in arguments[:place]:
        words = [_remove_quotes_before_completion(word) for word in words]
    found = completion_candidates(root, words or [""], options)
    return "\n".join([found.kind, *(f"{value}\t{told}" for value, told in found.values)])


def completion_candidates(root: Any, words: list[str], options: Options) -> Candidates:
    """Return what can stand for the last of these words, which follow the program's name."""
    line = CommandLine(root)
    *done, typed = words
    for word in done:
        line.take(word)
    if line.unknown:
        return Candidates("none")
    language = SentenceCatalog(options.language)
    before = ""
    if line.waiting is None and line.options and typed.startswith("-"):
        name, equals, value = typed.partition("=")
        if not equals:
            return _starting(typed, _option_names(line.command, language))
        line.waiting, typed, before = _option(line.command, name), value, f"{name}="
    elif line.waiting is not None and typed == "=":
        typed = ""
    if line.waiting is None and hasattr(line.command, "visible_nodes"):
        return _starting(typed, _command_names(line.command, language))
    wanted = line.waiting if line.waiting is not None else line.argument()
    found = Candidates("none") if wanted is None else _values(wanted, typed, line, options)
    return replace(found, values=tuple((before + value, told) for value, told in found.values))


def _values(parameter: Any, typed: str, line: CommandLine, options: Options) -> Candidates:
    """Return the values of an option or an argument."""
    choices = parameter.type_descriptor.choices
    if choices is not None:
        return _starting(typed, ((str(getattr(each, "value", each)), "") for each in choices))
    metavar = (parameter.metavar or "").strip("[]")
    if metavar == _AGENT:
        return _agents(typed, line.given, options)
    path = metavar in _PATHS and parameter.type_descriptor.is_path
    return Candidates("files" if path else "none")


def _starting(typed: str, values: Iterator[Value]) -> Candidates:
    return Candidates("values", tuple(each for each in values if each[0].startswith(typed)))


def _command_names(group: Any, words: SentenceCatalog) -> Iterator[Value]:
    for node in group.visible_nodes():
        yield node.name, truncate_terminal_line(words.help(group.purpose_of(node)), _HELP_LENGTH)


def _option_names(command: Any, words: SentenceCatalog) -> Iterator[Value]:
    for option in command.params:
        if option.param_type_name == "option" and not option.hidden:
            told = truncate_terminal_line(words.help(option.help or ""), _HELP_LENGTH)
            yield from ((name, told) for name in (*option.opts, *option.secondary_opts))
    yield "--help", ""


def _option(command: Any, name: str) -> Any:
    """Return a command's option with this name, or None."""
    for option in command.params:
        if option.param_type_name == "option" and name in (*option.opts, *option.secondary_opts):
            return option
    return None


def _agents(typed: str, given: dict[str, str], options: Options) -> Candidates:
    """Return the agents by name, or by id where a name is not unique or an id is typed."""
    known = {name: value for name, value in given.items() if name in _SERVER}
    if "data" in known:
        known["data"] = Path(known["data"])  # type: ignore[assignment]
    living = _living_agents(replace(options, **known))  # type: ignore[arg-type]
    names = [agent["name"] for agent in living]
    start, found = _normalize(typed), list[Value]()
    for agent in living:
        name, identifier = truncate_terminal_line(agent["name"], 200), str(agent["id"])
        if name == agent["name"] and names.count(name) == 1 and _normalize(name).startswith(start):
            found.append((name, identifier))
        elif identifier.startswith(typed):
            found.append((identifier, name))
    return Candidates("values", tuple(found))


def _living_agents(options: Options) -> list[dict[str, Any]]:
    """Return the agents of the server; none if it does not answer in time."""
    found = list[dict[str, Any]]()

    def ask() -> None:
        try:
            found.extend(each for each in _agents_of_server(options) if each["status"] != "retired")
        except Exception:  # noqa: BLE001 - whatever is wrong, a person who types is not told of it
            return

    asking = Thread(target=ask, daemon=True)
    asking.start()
    asking.join(SECONDS)
    return list(found)


def _agents_of_server(options: Options) -> list[dict[str, Any]]:
    """Return all agents; what another computer is asked through, such as a proxy, takes httpx."""
    from opencrab.gateways.cli.connection.address import find_server_address

    address = find_server_address(data=options.data, url=options.url, key=options.key)
    if address.is_here and options.transport is None:
        from opencrab.gateways.cli.connection.local_list import list_over_server_connection

        return list(list_over_server_connection(address, "agents", SECONDS))
    from opencrab.gateways.cli.terminal.terminal import Terminal

    return list(Terminal(options).client.items("agents"))


def _normalize(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _remove_quotes_before_completion(word: str) -> str:
    """Return a word of a shell's line without quotes, of which the last may be missing."""
    for end in ("", '"', "'"):
        try:
            parts = shlex.split(word + end)
        except ValueError:
            continue
        return " ".join(parts)
    return word
