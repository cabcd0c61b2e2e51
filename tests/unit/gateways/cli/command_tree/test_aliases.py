"""Every command line of version 0.1 means the same today, and only a person is told new names."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from opencrab.gateways.cli.app import build_cli_app
from tests.cases import for_each
from tests.unit.gateways.cli.server import Program, Server, ok, page
from tests.unit.gateways.cli.views import agent_view, session_view, story_view

BEFORE: dict[str, Any] = json.loads(
    (Path(__file__).parent / "commands_of_0_1.json").read_text(encoding="utf-8")
)
"""Every command of the release before the groups, with its arguments and options."""

NEW_NAMES = {
    ("task", "list", "x"): ("tasks", "list", "x"),
    ("providers",): ("models", "providers"),
    ("budgets",): ("costs", "budgets"),
    ("mentor", "s1", "x"): ("sessions", "mentor", "s1", "x"),
    ("analytics", "x"): ("agents", "analytics", "x"),
    ("experiments", "x"): ("learning", "experiments", "x"),
    ("changes", "x"): ("learning", "changes", "x"),
    ("keys", "list"): ("admin", "keys", "list"),
    ("discord", "invite"): ("admin", "discord", "invite"),
    ("cost", "estimate"): ("costs", "estimate-aws"),
}


def resolved(path: str) -> Any:
    """The command with this path in today's tree."""
    command: Any = get_command(build_cli_app(lambda _: 0))
    for name in path.split():
        command = command.commands[name]
    return command


@for_each("path", sorted(BEFORE))
def test_a_command_line_of_before_means_the_same(path: str) -> None:
    before, now = BEFORE[path], resolved(path)
    is_group = hasattr(now, "commands")
    assert is_group or not before["group"]
    if is_group:
        assert bool(now.invoke_without_command) == before["alone"]
    arguments = [each for each in now.params if each.param_type_name == "argument"]
    options = {
        name: each
        for each in now.params
        if each.param_type_name == "option"
        for name in (*each.opts, *each.secondary_opts)
    }
    told = [[each.name, kind(each), each.required, each.nargs] for each in arguments]
    assert told == before["arguments"]
    kept = {
        name: [kind(found), bool(found.is_flag), found.multiple, found.required]
        for name in before["options"]
        if (found := options.get(name))
    }
    assert kept == before["options"]


@for_each("before", sorted(NEW_NAMES))
def test_the_older_name_prints_the_same_as_the_new_one(
    program: Program, server: Server, before: tuple[str, ...]
) -> None:
    prepare(server)
    old, new = program.run("--json", *before), program.run("--json", *NEW_NAMES[before])
    assert (old.code, old.out, old.err) == (new.code, new.out, new.err)
    assert (old.code, old.err) == (0, "") or old.err.startswith('{"error": ')


@pytest.mark.parametrize(
    ("locale", "hint"),
    [
        ("en_US.UTF-8", "`opencrab keys list` is now `opencrab admin keys list`; "),
        ("ja_JP.UTF-8", "`opencrab keys list` は `opencrab admin keys list` に変わりました。"),
    ],
)
def test_a_person_is_told_the_new_name_once(
    program: Program, server: Server, locale: str, hint: str
) -> None:
    prepare(server)
    sat = program.sit("keys", "list", LANG=locale)
    assert sat.err.startswith(hint)
    assert sat.err.count("\n") == 1
    assert program.sit("admin", "keys", "list", LANG=locale).err == ""
    assert program.run("keys", "list", LANG=locale).err == ""


def test_the_new_name_of_a_group_holds_for_its_commands(program: Program, server: Server) -> None:
    prepare(server)
    assert "`opencrab task list` is now `opencrab tasks list`" in (
        program.sit("task", "list", "x").err
    )
    assert "is now `opencrab admin simulate`" in program.sit("simulate", "--hours", "1").err


def test_a_decision_by_a_turn_names_the_command_that_decides(
    program: Program, server: Server
) -> None:
    prepare(server)
    decided = program.sit("turns", "decide", "t1", "--reject")
    assert "is now `opencrab approvals approve`" in decided.err
    assert server.sent("POST") == [{"approved": False, "reason": ""}]


def test_older_names_are_not_in_help(program: Program) -> None:
    shown = program.run("--help").out
    hidden = {path for path in BEFORE if " " not in path and path and resolved(path).hidden}
    assert {"task", "keys", "cost", "experiments"} <= hidden
    assert not {name for name in hidden if f"\n  {name} " in shown}


def test_a_group_that_is_an_older_name_lists_its_commands(program: Program) -> None:
    for language, renamed in (("en", "now `opencrab admin keys"), ("ja", "現在の名前は `opencrab")):
        told = program.run("--language", language, "keys", "--help").out
        assert "revoke" in told
        assert renamed in " ".join(told.split())


def kind(parameter: Any) -> str:
    found = parameter.type_descriptor.annotation
    return str(getattr(found, "__name__", found))


def prepare(server: Server) -> None:
    """Answer what these commands ask."""
    server.on("GET /agents", page(agent_view("x")))
    for route in ("agents/x-id/tasks", "llm/providers", "keys", "agents/x-id/changes"):
        server.on(f"GET /{route}", page())
    server.on("GET /budgets", ok({"limits": {}}))
    server.on("POST /sessions/s1/mentor", ok({"id": "i", "line": 1}))
    server.on("GET /sessions/s1", ok(session_view("x-id")))
    server.on("GET /agents/x-id/experiments", ok({"items": []}))
    server.on("GET /turns/t1", ok(story_view()))
    server.on("POST /turns/t1/decide", ok(story_view()))
