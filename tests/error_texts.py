"""What errors say in English, found in the source: each has a text in Japanese.

`python -m tests.error_texts` prints those that have none, as JSON with the module of each.
"""

import ast
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from tests.conftest import ROOT

PACKAGE = ROOT / "layers" / "opencrab" / "python" / "opencrab"
TABLE = PACKAGE / "gateways" / "language" / "error_texts.json"
UNTRANSLATED = ("actions", "testing")
"""Layers whose errors models or programmers read: they stay English."""

PROBLEM = PACKAGE / "gateways" / "rest" / "http" / "problem.py"
VALIDATION = TABLE.with_name("validation_texts.json")
"""What pydantic's errors are told as."""

_TOLD_BY_STATUS = {"_TITLES", "_CURES", "detail", "cure"}
"""What `PROBLEM` says of a status, by the names that it has there."""

_MESSAGES = {"OpenCrabError": 0, "RpcError": 1, "A2aError": 1}
"""Classes of errors, and which of their arguments is the message; so it is in subclasses."""


@cache
def templates() -> dict[str, str]:
    """Messages and cures that errors are made with, `{}` for each value, and a module of each."""
    found = dict[str, str]()
    for path, tree in _modules().items():
        module = str(path.relative_to(PACKAGE))
        if module.split("/", maxsplit=1)[0] not in UNTRANSLATED:
            found |= {text: module for text in _told_in(tree) if text not in found}
    told = [*_texts_of_faults(), *((text, PROBLEM) for text in _texts_of_problems())]
    for text, path in told:
        found.setdefault(text, str(path.relative_to(PACKAGE)))
    return {text: module for text, module in found.items() if _says_something(text)}


def _told_in(tree: ast.Module) -> Iterator[str]:
    """What the errors say that a module makes, itself or by a function that words them."""
    assigned = _texts_by_name(tree)
    wording = _public_wording() | _wording(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name in wording:
            yield from _phrases(_defaults(node, wording[node.name]), assigned)
        if not isinstance(node, ast.Call):
            continue
        made = _name(node.func)
        yield from _phrases(_given(node, {"cure": None} | wording.get(made, {})), assigned)
        if made in error_classes():
            yield from (text for given in _told(node) for text in _templates(given, assigned))
        elif made == "ValueError":  # of a validator: the detail, and behind a colon the cure
            for given in node.args[:1]:
                for text in _templates(given, assigned):
                    yield from text.split(": ", 1)


def _phrases(given: Iterable[ast.expr], texts: dict[str, list[ast.expr]]) -> Iterator[str]:
    """What is told of what a function is given: words, not a name or a number."""
    for each in given:
        yield from (text for text in _templates(each, texts) if " " in text)


Wording = dict[str, dict[str, int | None]]
"""Functions by name, with those of their parameters that are told, and the place of each."""


@cache
def _public_wording() -> Wording:
    """Functions of other modules that return an error."""
    returned = {
        node.name
        for tree in _modules().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.returns is not None
        if _name(node.returns) in error_classes() and not node.name.startswith("_")
    }
    found = [item for tree in _modules().values() for item in _wording(tree).items()]
    return {name: told for name, told in found if name in returned}


def _wording(tree: ast.Module) -> Wording:
    """Functions of a module that make an error, or have one made, of what they are given."""
    functions = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        if node.name.startswith("_")
        or (node.returns is not None and _name(node.returns) in error_classes())
    ]
    found: Wording = {}
    size = -1
    while size != sum(map(len, found.values())):
        size = sum(map(len, found.values()))
        for function in functions:
            used = {
                name.id
                for call in ast.walk(function)
                if isinstance(call, ast.Call)
                for given in _told_by(call, found)
                for name in ast.walk(given)
                if isinstance(name, ast.Name)
            }
            named = [each.arg for each in function.args.args if each.arg not in {"self", "cls"}]
            told: dict[str, int | None] = {
                name: place for place, name in enumerate(named) if name in used
            }
            told |= {each.arg: None for each in function.args.kwonlyargs if each.arg in used}
            if told:
                found[function.name] = found.get(function.name, {}) | told
    return found


def _told_by(call: ast.Call, wording: Wording) -> Iterator[ast.expr]:
    name = _name(call.func)
    if name in error_classes():
        yield from _told(call)
    yield from _given(call, wording.get(name, {}))


def _given(call: ast.Call, told: Mapping[str, int | None]) -> Iterator[ast.expr]:
    """What a call gives for the parameters that are told."""
    yield from (call.args[at] for at in told.values() if at is not None and at < len(call.args))
    yield from (each.value for each in call.keywords if each.arg in told)


def _defaults(function: ast.FunctionDef, told: Mapping[str, int | None]) -> Iterator[ast.expr]:
    """What is told where the caller does not say."""
    arguments = function.args
    pairs = [
        *zip(reversed(arguments.args), reversed(arguments.defaults), strict=False),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    yield from (value for name, value in pairs if value is not None and name.arg in told)


@cache
def literals() -> set[str]:
    """All texts in the source, `{}` for each value, whatever they are used for."""
    found = {*_texts_of_problems(), *(text for text, _ in _texts_of_faults())}
    for tree in _modules().values():
        for node in ast.walk(tree):
            for text in _templates(node, {}) if isinstance(node, ast.expr) else ():
                found |= {text, *text.split(": ", 1)}
    return found


def _texts_of_problems() -> Iterator[str]:
    """What no error's raiser says: titles, unexpected errors, and those of validation."""
    for name, values in _texts_by_name(_modules()[PROBLEM]).items():
        for value in values if name in _TOLD_BY_STATUS else ():
            given = value.values if isinstance(value, ast.Dict) else [value]
            yield from (text for each in given for text in _templates(each, {}))
    for texts in json.loads(VALIDATION.read_text("utf-8")).values():
        yield from (re.sub(r"{\w+}", "{}", text) for text in texts.values())


def _texts_of_faults() -> Iterator[tuple[str, Path]]:
    """What providers' errors are told as: tables by fault, and what is said otherwise."""
    for path, tree in _modules().items():
        for name, values in _texts_by_name(tree).items():
            for value in values:
                is_table = isinstance(value, ast.Dict) and "Fault" in map(_owner, value.keys)
                if path.name == "error.py" and (is_table or name == "_OTHERWISE"):
                    for each in ast.walk(value):
                        if isinstance(each, ast.Constant) and isinstance(each.value, str):
                            yield re.sub(r"{[^}]*}", "{}", each.value), path


def _owner(key: ast.expr | None) -> str:
    return _name(key.value) if isinstance(key, ast.Attribute) else ""


def _says_something(text: str) -> bool:
    return any(letter.isalpha() for letter in text.replace("{}", ""))


@cache
def error_classes() -> frozenset[str]:
    """Names of the classes of errors, and of those that derive from them."""
    bases = {
        node.name: {_name(base) for base in node.bases}
        for tree in _modules().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    found = set(_MESSAGES)
    while more := {name for name, of in bases.items() if of & found} - found:
        found |= more
    return frozenset(found)


@cache
def _modules() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text("utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}


def _told(call: ast.Call) -> Iterator[ast.expr]:
    """What the caller says: the message, and the cure."""
    place = _MESSAGES.get(_name(call.func), 0)
    given = call.args[place : place + 1]
    yield from (each for each in given if not isinstance(each, ast.Starred))
    yield from (each.value for each in call.keywords if each.arg == "cure")


def _texts_by_name(tree: ast.Module) -> dict[str, list[ast.expr]]:
    """What is assigned to names anywhere in a module, and what its functions return."""
    found = dict[str, list[ast.expr]]()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            returned = (each.value for each in ast.walk(node) if isinstance(each, ast.Return))
            found.setdefault(node.name, []).extend(value for value in returned if value)
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, []).append(node.value)
    return found


def _templates(given: ast.expr, texts: dict[str, list[ast.expr]]) -> list[str]:
    """All that an expression may be; none if the source does not say."""
    several = list[ast.expr]()
    match given:
        case ast.Constant(value=str(text)) if text:
            return [text]
        case ast.JoinedStr(values=values):
            return ["".join(_piece(part) for part in values)]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            ends = _templates(right, texts) or ["{}"]
            return [a + b for a in _templates(left, texts) or ["{}"] for b in ends]
        case ast.IfExp(body=body, orelse=orelse):
            several = [body, orelse]
        case ast.BoolOp(values=values):
            several = values
        case (
            ast.Name(id=name)
            | ast.Call(func=ast.Name(id=name) | ast.Attribute(value=ast.Name(id="self"), attr=name))
        ):
            # No further: a name of a name says nothing.
            several, texts = texts.get(name, []), {}
    return [text for each in several for text in _templates(each, texts)]


def _piece(part: ast.expr) -> str:
    if isinstance(part, ast.Constant):
        return str(part.value)
    return "{}"


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def _print_missing() -> None:
    known = json.loads(TABLE.read_text("utf-8"))
    missing = {text: module for text, module in templates().items() if text not in known}
    sys.stdout.write(f"{json.dumps(missing, indent=1, ensure_ascii=False)}\n")


if __name__ == "__main__":
    _print_missing()
