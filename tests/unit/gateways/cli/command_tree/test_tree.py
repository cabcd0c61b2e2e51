"""The tree as help lists it: sections, purposes, and names that all load."""

from collections.abc import Iterator

from opencrab.gateways.cli.command_tree.node import CommandNode
from opencrab.gateways.cli.command_tree.tree import ROOT
from tests.unit.gateways.cli.server import Program

COMMON = ("up", "chat", "agents", "sessions", "tasks", "memory", "models", "costs", "approvals")


def nodes(node: CommandNode = ROOT) -> Iterator[CommandNode]:
    for each in node.members():
        yield each
        yield from nodes(each)


def test_every_command_names_a_function_that_exists() -> None:
    found = list(nodes())
    assert len(found) > 100
    commands = [node for node in found if not node.is_group]
    assert [node.name for node in commands if not callable(node.function())] == []


def test_a_purpose_in_the_tree_is_the_commands_own() -> None:
    told = [node for node in nodes() if node.purpose and not node.is_group]
    assert len(told) > 5
    assert {node.name: node.purpose for node in told} == {
        node.name: str(node.function().__doc__) for node in told
    }


def test_help_lists_the_common_commands_first(program: Program) -> None:
    shown = program.run("--help").out
    places = [shown.index(f"\n  {name} ") for name in COMMON]
    assert places == sorted(places)
    sections = ("Every day:", "What agents do, know and learn:", "Emergencies and administration:")
    assert places[-1] < shown.index(sections[1]) < shown.index(sections[2])
    assert shown.index(sections[0]) < places[0]
    assert sum(not node.hidden for node in ROOT.members()) <= 30


def test_sections_have_headings_in_japanese(program: Program) -> None:
    shown = program.run("--help", LANG="ja_JP.UTF-8").out
    assert all(f"\n{head}:" in shown for head in ("毎日使うコマンド", "緊急停止と管理"))
