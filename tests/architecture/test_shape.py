"""The shape of the code: small modules with a purpose, small functions, honest names."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.architecture.source import PACKAGE, Function, Module, modules, modules_of

MODULE_LINES = 400
FUNCTION_LINES = 50
PARAMETERS = 8
VAGUE = {"manager", "helper", "util", "service", "tick", "cycle", "iteration"}

every_module = pytest.mark.parametrize("module", modules(), ids=lambda module: module.name)


def test_the_walk_finds_the_whole_package() -> None:
    found = {module.name for module in modules()}
    assert len(found) > 100
    assert {"opencrab", "opencrab.domain.turn", "opencrab.gateways.cli.app"} <= found
    assert len(found) == sum(1 for _ in PACKAGE.rglob("*.py"))


@every_module
def test_a_module_begins_with_its_purpose_in_one_sentence(module: Module) -> None:
    first, *rest = (_docstring(module) or "").split("\n")
    assert first, "it has no docstring"
    assert first.endswith((".", "?")), f"its first line is no sentence: {first!r}"
    assert not re.search(r"[.?!] [A-Z]", first), f"that is more than one sentence: {first!r}"
    assert not rest or not rest[0], "the sentence must fit its line"


@every_module
def test_a_module_fits_four_hundred_lines(module: Module) -> None:
    assert len(module.text.splitlines()) <= MODULE_LINES


@every_module
def test_a_function_fits_fifty_lines(module: Module) -> None:
    assert not {
        function.name: _length(function)
        for function in module.functions
        if _length(function) > FUNCTION_LINES
    }


@every_module
def test_nothing_takes_more_than_eight_parameters(module: Module) -> None:
    assert not {
        function.name: _parameters(function)
        for function in module.functions
        if _parameters(function) > PARAMETERS
    }


@pytest.mark.parametrize(
    "module", modules_of("domain", "engine", "ports"), ids=lambda module: module.name
)
def test_a_name_says_what_it_is_about(module: Module) -> None:
    names = [module.name.rpartition(".")[2], *(each.name for each in module.definitions)]
    assert not {name for name in names if VAGUE & set(_words(name))}


def test_a_vague_name_is_recognised_in_any_spelling() -> None:
    for name in ("TurnManager", "_run_tick", "utils", "HTTPService", "nextCycle", "iterations"):
        assert VAGUE & set(_words(name)), name
    for name in ("ticket", "bicycle", "utility_of_none", "reiterated"):
        assert not VAGUE & set(_words(name)), name


def _docstring(module: Module) -> str | None:
    return ast.get_docstring(module.tree)


def _length(function: Function) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


def _parameters(function: Function) -> int:
    given = function.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    named = [argument for argument in named if argument.arg not in {"self", "cls"}]
    return len(named) + sum(each is not None for each in (given.vararg, given.kwarg))


def _words(name: str) -> Iterator[str]:
    """The words of a name, in lower case and without the plural's s."""
    for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name):
        yield word.lower()
        yield word.lower().removesuffix("s")
