"""The page of all errors: kinds, faults of models, ends of turns, close codes and exit codes."""

import ast
import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module

from opencrab.domain.errors import OpenCrabError
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.money import budget
from opencrab.domain.turn.record import CallState
from opencrab.domain.turn.turn import TurnStatus
from opencrab.domain.value import Language
from opencrab.gateways.cli.scripting.exit_code import ExitCode
from opencrab.gateways.rest.http import problem
from opencrab.gateways.websocket import aws
from tests.architecture.source import PACKAGE, modules
from tests.docs.reference.section import Section, text_of
from tests.docs.reference.text import sentence, sentences

_CLASS = re.compile(r"^class (\w+)\(([\w., ]+)\)", re.MULTILINE)
_CLOSE_CODES = range(1000, 5000)
_YES_NO = {Language.EN: ("no", "yes"), Language.JA: ("いいえ", "はい")}


def page(language: Language) -> str:
    """The page in one language."""
    return text_of("errors", sections(language), language)


def sections(language: Language) -> list[Section]:
    """Everything that the page has."""
    example = bytes(problem.http_problem_of_status(404).body).decode()
    answer = {"example": example, "seconds": problem.RETRY_SECONDS}
    retries = tuple(f"retry.{name}" for name in _retries())
    return [
        Section("problem", _named(problem.Problem.model_fields), answer),
        Section("kind", {each.__name__: _kind(each, language) for each in kinds()}, more=retries),
        Section("other", {code: (f"`{code}`", *found) for code, found in other_codes().items()}),
        Section("budget", {name: (f"`{field}`",) for name, field in budget_fields().items()}),
        Section("fault", {each.value: _fault(each, language) for each in Fault}),
        Section("turn", {each.value: _turn(each, language) for each in TurnStatus}),
        Section("notice", {name: _notice(name, language) for name in notices()}),
        Section("call", _named(CallState)),
        Section("close", _named(map(str, sorted(close_codes())))),
        Section("connect", _named(map(str, sorted({status for _, status in aws._STATUS})))),
        Section("exit", _named(map(str, sorted(exit_codes())))),
    ]


@cache
def kinds() -> tuple[type[OpenCrabError], ...]:
    """Every class of error in the package, each before those that derive from it."""
    bases, home = dict[str, set[str]](), dict[str, str]()
    for module in modules():
        for name, named in _CLASS.findall(module.text):
            bases[name], home[name] = (
                {each.split(".")[-1] for each in named.split(", ")},
                module.name,
            )

    def tree(name: str) -> Iterator[type[OpenCrabError]]:
        yield getattr(import_module(home[name]), name)
        for derived in sorted(each for each in bases if name in bases[each]):
            yield from tree(derived)

    return tuple(tree(OpenCrabError.__name__))


def other_codes() -> dict[str, tuple[str, str]]:
    """Codes of answers that no class has, with their status and title."""
    answers = [
        problem.http_problem_of_unexpected(),
        *map(problem.http_problem_of_status, problem._CODES),
    ]
    told = [json.loads(bytes(answer.body)) for answer in answers]
    known = {kind.code for kind in kinds()}
    return {
        each["code"]: (str(each["status"]), each["title"])
        for each in told
        if each["code"] not in known
    }


def budget_fields() -> dict[str, str]:
    """What the field of a budget that is used up may be."""
    literal = {
        str(ast.literal_eval(keyword.value))
        for module in modules()
        if "raise Exhausted(" in module.text
        for call in _calls(module.tree, "Exhausted")
        for keyword in call.keywords
        if keyword.arg == "field" and isinstance(keyword.value, ast.Constant)
    }
    named = {name: getattr(budget, f"{name}_budget_scope", None) for name in _phrases()["budgets"]}
    fields = {name: scope("ID") if scope else name for name, scope in named.items()}
    return fields | {name: name for name in sorted(literal)}


_ENDS = ("close_turn(", "OutsideAnswer(")


@cache
def notices() -> dict[str, set[str]]:
    """What is said when a turn ends without an answer: phrases, with the statuses it gets."""
    found = dict[str, set[str]]()
    for module in modules():
        functions = module.functions if any(name in module.text for name in _ENDS) else ()
        for phrase, status in (each for function in functions for each in _notices(function)):
            found.setdefault(phrase, set()).add(status)
    return found


def close_codes() -> set[int]:
    """Every code with which the server closes a WebSocket."""
    return {
        number
        for module in modules()
        if "websocket.close(" in module.text
        for assigned in module.tree.body
        if isinstance(assigned, ast.Assign)
        for number in _numbers(assigned.value)
        if number in _CLOSE_CODES
    }


def exit_codes() -> set[int]:
    """Every code with which the command ends, also those that are written where it exits."""
    found = set(map(int, ExitCode))
    for module in modules():
        if "typer.Exit" in module.text:
            found.update(code for node in module.nodes for code in _exits(node))
    return found


def _retries() -> set[str]:
    """The classes of which the file says whether to retry: every root, and what differs from it."""
    roots = {kind.__name__ for kind in kinds() if OpenCrabError in (kind, *kind.__bases__)}
    names = {kind.__name__ for kind in kinds()}
    return roots | {name for name in names if f"retry.{name}" in sentences("errors")}


def _kind(kind: type[OpenCrabError], language: Language) -> tuple[str, ...]:
    error = ModelCallFailed("", Fault.TIMEOUT) if kind is ModelCallFailed else kind("")
    answer = problem.http_problem(error)
    title = json.loads(bytes(answer.body))["title"]
    nearest = next(each.__name__ for each in kind.__mro__ if each.__name__ in _retries())
    again = sentence("errors", f"retry.{nearest}", language)
    return f"`{kind.code}`", f"`{kind.__name__}`", str(answer.status_code), title, again


def _fault(fault: Fault, language: Language) -> tuple[str, ...]:
    said = _YES_NO[language]
    return (
        f"`{fault}`",
        f"`{fault.response}`",
        said[fault.may_be_billed],
        said[fault.is_provider_fault],
    )


def _turn(status: TurnStatus, language: Language) -> tuple[str, ...]:
    return f"`{status}`", _YES_NO[language][status.is_end]


def _notice(name: str, language: Language) -> tuple[str, ...]:
    statuses = ", ".join(f"`{status}`" for status in sorted(notices()[name]))
    return _phrases()["sentences"][name][language.value], statuses


def _named(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    return {str(name): (f"`{name}`",) for name in names}


def _phrases() -> dict[str, dict[str, dict[str, str]]]:
    read: dict[str, dict[str, dict[str, str]]] = json.loads(
        (PACKAGE / "engine" / "phrases.json").read_text(encoding="utf-8")
    )
    return read


def _notices(function: ast.AST) -> Iterator[tuple[str, str]]:
    """The phrases with which a function ends a turn, each with a status."""
    kept = [
        name
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "notice"
        for name in _phrases_in(node.value)
    ]
    for call in _calls(function, "close_turn"):
        given = next((each.value for each in call.keywords if each.arg == "notice"), None)
        names = kept if isinstance(given, ast.Name) else _phrases_in(given or ast.Pass())
        status = ast.unparse(call.args[1]).removeprefix("TurnStatus.").lower()
        yield from ((name, status) for name in names)
    # A turn whose wait for somebody outside is in vain stops with the notice that it is given.
    for answer in _calls(function, "OutsideAnswer"):
        yield from ((name, "stopped") for name in _phrases_in(answer))


def _phrases_in(value: ast.AST) -> list[str]:
    named = [key for call in _calls(value, "system_phrase") for key in _keys(call.args[0])]
    named += ["budget" for _ in _calls(value, "phrase_for_used_up_budget")]
    return named + ["failed" for _ in _calls(value, "phrase_for_failure")]


def _keys(node: ast.AST) -> list[str]:
    """The key of a phrase, or both of those that a condition chooses from."""
    if isinstance(node, ast.IfExp):
        return _keys(node.body) + _keys(node.orelse)
    return [str(ast.literal_eval(node))]


def _exits(node: ast.AST) -> Iterator[int]:
    """The codes of one `raise typer.Exit(…)`; a code that is no number is the launched server's."""
    if isinstance(node, ast.Raise) and "typer.Exit" in ast.unparse(node):
        yield from list(_numbers(node)) or [0]


def _numbers(node: ast.AST) -> Iterator[int]:
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and type(each.value) is int:
            yield each.value


def _calls(node: ast.AST, name: str) -> Iterator[ast.Call]:
    for each in ast.walk(node):
        if isinstance(each, ast.Call) and ast.unparse(each.func) == name:
            yield each
