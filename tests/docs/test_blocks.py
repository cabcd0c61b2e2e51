"""No page shows a command or an option that does not exist, nor a block that does not parse."""

import ast
import json
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest
import typer
import typer.main
import yaml  # type: ignore[import-untyped, unused-ignore]

from opencrab.bootstrap.local.command import run_local_server
from opencrab.gateways.cli.app import build_cli_app
from tests.docs.blocks import commands, fences, read_fences, words

_IN_LINE = re.compile(r"`opencrab ([^`]+)`")


def read_json(text: str) -> Any:
    """One value, or one on each line."""
    try:
        return json.loads(text)
    except ValueError:
        return [json.loads(line) for line in text.splitlines()]


PARSERS: dict[str, Callable[[str], Any]] = {
    "json": read_json,
    "python": ast.parse,
    "toml": tomllib.loads,
    "yaml": yaml.safe_load,
}


@cache
def root() -> Any:
    return typer.main.get_command(build_cli_app(run_local_server))


def parse(arguments: Sequence[str]) -> None:
    """Read a command as the program does, without running it; raises what the program raises."""
    command, context, rest = root(), None, list(arguments)
    name = "opencrab"
    while True:
        context = command.make_context(name, rest, parent=context)
        rest = [*context._protected_args, *context.args]
        if not getattr(command, "commands", None) or not rest:
            return
        name, command, rest = command.resolve_command(context, rest)


def wrong_with(arguments: Sequence[str]) -> str:
    """What is wrong with a command as a block shows it; empty if nothing is."""
    try:
        parse(arguments)
    except typer.Exit as ended:
        return "" if ended.exit_code == 0 else f"ends with {ended.exit_code}"
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        return str(error.format_message())
    return ""


def unknown_in(arguments: Sequence[str]) -> Iterator[str]:
    """Commands and options that do not exist, of a command in a sentence: it may lack arguments."""
    command, options, valued, before = root(), {"--help"}, set[str](), ""
    for word in arguments:
        below = getattr(command, "commands", {})
        options |= {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
        valued |= {name for each in command.params for name in each.opts if not _is_switch(each)}
        before, option = word, before
        if word.startswith("--"):
            yield from {word.partition("=")[0]} - options
        elif option in valued and option.startswith("--"):
            continue
        elif word in below:
            command = below[word]
        elif below and word.isalpha() and word.islower():
            yield word


def _is_switch(parameter: click.Parameter) -> bool:
    return isinstance(parameter, click.Option) and (parameter.is_flag or parameter.count)


def in_lines() -> Iterator[tuple[str, list[str]]]:
    """The commands in the sentences of all pages, with their places."""
    for page in sorted({fence.page for fence in fences()}):
        text = page.read_text(encoding="utf-8")
        yield from ((f"{page.name}: {found}", words(found)) for found in _IN_LINE.findall(text))


def test_every_command_in_a_block_is_one_that_the_program_takes() -> None:
    shown = [(fence, command) for fence in fences() for command in commands(fence)]
    assert len(shown) > 100
    wrong = {
        f"{fence.place}: {' '.join(command)}": said
        for fence, command in shown
        if (said := wrong_with(command))
    }
    assert not wrong


def test_every_command_and_option_in_a_sentence_exists() -> None:
    shown = list(in_lines())
    assert len(shown) > 100
    assert not {place: found for place, each in shown if (found := list(unknown_in(each)))}


@pytest.mark.parametrize("kind", PARSERS)
def test_every_block_parses_as_what_it_says_that_it_is(kind: str) -> None:
    for fence in fences():
        if fence.kind == kind:
            try:
                PARSERS[kind](fence.text)
            except (ValueError, SyntaxError, yaml.YAMLError) as error:
                pytest.fail(f"{fence.place} is no {kind}: {error}")


def test_a_command_that_does_not_exist_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "1. Do this:\n\n"
        "   ```console\n   $ A=1 opencrab agents lust | head\n   opencrab output\n   ```\n\n"
        "```\nopencrab agents list --jsn    # all\nID=$(opencrab agents show Rowan --jso)\n"
        "opencrab admin keys create \\\n  --name x && opencrab freeze   what it does\n```\n",
        encoding="utf-8",
    )
    found = [command for fence in read_fences(page) for command in commands(fence)]
    assert found == [
        ["agents", "lust"],
        ["agents", "list", "--jsn"],
        ["agents", "show", "Rowan", "--jso"],
        ["admin", "keys", "create", "--name", "x"],
        ["freeze"],
    ]
    assert [bool(wrong_with(each)) for each in found] == [True, True, True, False, False]
    assert list(unknown_in(["agents", "lust", "--nope"])) == ["lust", "--nope"]
    assert not list(unknown_in(["costs", "--turn", "ID"]))
