"""The shape of the code: small modules with a purpose, small functions, honest names."""

import ast
import re
from collections import Counter
from collections.abc import Iterator

from tests.architecture.source import PACKAGE, Function, Module, modules, modules_of, obey

MODULE_LINES = 400
FUNCTION_LINES = 50
PARAMETERS = 8
FOLDER = 16
"""Modules in a folder at most, its `__init__` aside: as many as one takes in at a glance."""

IRREGULAR = """
begun born bound bought brought built caught chosen done drawn driven fallen felt forgotten found
frozen given gone got grown heard held hidden kept known laid lent lost made meant met owed paid
said seen sent shown spent spoken stood taken taught told thought understood withdrawn withheld
won worn written
"""
"""Participles that do not end in -ed and are not the verb itself, as `read` and `set` are."""

VAGUE = {"manager", "helper", "util", "service", "tick", "cycle", "iteration"}


def test_the_walk_finds_the_whole_package() -> None:
    found = {module.name for module in modules()}
    assert len(found) > 100
    assert {"opencrab", "opencrab.domain.turn.turn", "opencrab.gateways.cli.app"} <= found
    assert len(found) == sum(1 for _ in PACKAGE.rglob("*.py"))


def test_a_module_begins_with_its_purpose_in_one_sentence() -> None:
    obey(_without_purpose, modules())


def test_a_module_fits_four_hundred_lines() -> None:
    obey(_too_long, modules())


def test_a_function_fits_fifty_lines() -> None:
    obey(_long_functions, modules())


def test_nothing_takes_more_than_eight_parameters() -> None:
    obey(_wide_functions, modules())


def test_a_name_says_what_it_is_about() -> None:
    obey(_vague_names, modules_of("domain", "engine", "ports"))


def test_a_vague_name_is_recognised_in_any_spelling() -> None:
    for name in ("TurnManager", "_run_tick", "utils", "HTTPService", "nextCycle", "iterations"):
        assert VAGUE & set(_words(name)), name
    for name in ("ticket", "bicycle", "utility_of_none", "reiterated"):
        assert not VAGUE & set(_words(name)), name


def test_a_function_is_no_bare_participle() -> None:
    obey(_participles, modules())


def test_a_bare_participle_is_recognised() -> None:
    for name in ("told", "opened", "kept", "resolved", "_told"):
        assert _is_participle(name), name
    for name in ("tell", "kept_rows", "read", "need", "_tell", "speed", "feed"):
        assert not _is_participle(name), name


def test_no_two_classes_share_a_name() -> None:
    named = Counter(
        each.name
        for module in modules()
        for each in module.tree.body
        if isinstance(each, ast.ClassDef) and not each.name.startswith("_")
    )
    assert len(named) > 1_000
    assert not {name for name, count in named.items() if count > 1}


def test_a_folder_holds_sixteen_modules() -> None:
    folders = Counter(each.path.parent for each in modules() if each.path.stem != "__init__")
    assert len(folders) > 50
    assert not {folder: count for folder, count in folders.items() if count > FOLDER}


def test_a_room_says_what_lives_there_and_what_does_not() -> None:
    rooms = [each for each in modules() if each.path.stem == "__init__" and _is_room(each)]
    assert len(rooms) > 50
    obey(_without_border, rooms)


def _is_room(module: Module) -> bool:
    """Whether a folder is a capability's, inside a layer."""
    return module.name.count(".") > 1


def _without_border(module: Module) -> Iterator[str]:
    text = ast.get_docstring(module.tree) or ""
    if len(re.findall(r"[.?](?=\s|$)", text)) < 2:
        yield "its docstring says in two sentences what lives here, and what does not"


def _without_purpose(module: Module) -> Iterator[str]:
    first, *rest = (ast.get_docstring(module.tree) or "").split("\n")
    if not first:
        yield "it has no docstring"
    elif not first.endswith((".", "?")):
        yield f"its first line is no sentence: {first!r}"
    if re.search(r"[.?!] [A-Z]", first):
        yield f"that is more than one sentence: {first!r}"
    if rest and rest[0]:
        yield "the sentence must fit its line"


def _too_long(module: Module) -> Iterator[str]:
    if (lines := len(module.text.splitlines())) > MODULE_LINES:
        yield f"{lines} lines"


def _long_functions(module: Module) -> Iterator[str]:
    for function in module.functions:
        if (lines := _length(function)) > FUNCTION_LINES:
            yield f"{function.name} has {lines} lines"


def _wide_functions(module: Module) -> Iterator[str]:
    for function in module.functions:
        if (count := _parameters(function)) > PARAMETERS:
            yield f"{function.name} takes {count} parameters"


def _participles(module: Module) -> Iterator[str]:
    named = (each for each in module.tree.body if isinstance(each, ast.FunctionDef))
    return (f"{each.name} says not what is done" for each in named if _is_participle(each.name))


def _is_participle(name: str) -> bool:
    """Whether a name is one word and a past participle, which tells neither an act nor a thing."""
    name = name.removeprefix("_")
    regular = re.fullmatch(r"[a-z]{3,}(?<!e)ed", name) is not None
    return (regular and name != "embed") or name in IRREGULAR.split()


def _vague_names(module: Module) -> set[str]:
    names = [module.name.rpartition(".")[2], *(each.name for each in module.definitions)]
    return {name for name in names if VAGUE & set(_words(name))}


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


def test_the_engine_sends_models_nothing_that_has_no_label() -> None:
    unlabelled = {"ChatMessage", "CallReturn", "ChatRequest"}

    def broken(module: Module) -> Iterator[str]:
        for node in module.nodes:
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in unlabelled:
                yield f"line {node.lineno}: make it with labelled_message, _result or _request"

    obey(broken, modules_of("engine"))
