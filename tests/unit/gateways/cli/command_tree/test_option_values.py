"""Help says what a value is in words, in both languages."""

import re

import pytest
from typer.main import get_command

from opencrab.gateways.cli.app import build_cli_app
from tests.unit.gateways.cli.language.test_sentences import commands
from tests.unit.gateways.cli.server import Program


@pytest.mark.parametrize("locale", ["en_US.UTF-8", "ja_JP.UTF-8"])
def test_no_help_shows_the_name_of_a_type(program: Program, locale: str) -> None:
    paths = [path for path, _ in commands(get_command(build_cli_app(lambda _: 0)))]
    assert len(paths) > 100
    shown = {path: program.run(*path, "--help", LANG=locale).out for path in paths}
    types = re.compile(r"<(str|int|float|path|text|integer|filename)\b")
    assert [path for path, page in shown.items() if types.search(page)] == []


def test_values_are_named_by_what_they_are(program: Program) -> None:
    shown = program.run("up", "--help").out
    assert all(text in shown for text in ("--port PORT", "--host ADDRESS", "--data DIR"))
    assert "--url ADDRESS" in program.run("--help").out
    assert "--say TEXT" in program.run("chat", "--help").out
