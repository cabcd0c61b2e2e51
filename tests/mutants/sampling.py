"""Mutants drawn at random, beside the listed ones: one small change of syntax, anywhere in a part.

A list of faults is as good as whoever wrote it, and its tests were written against it. A drawn
sample says what share of any small mistake the tests notice. The operators are the usual ones
(Offutt et al., "An experimental determination of sufficient mutant operators", ACM TOSEM 1996:
relational, logical, arithmetic), with deleted statements and left-out keyword arguments.
"""

import ast
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

from tests.conftest import ROOT
from tests.mutants.mutant import SOURCES, Mutant

PARTS = (
    "engine/turn",
    "engine/approvals",
    "engine/goals",
    "domain/approvals",
    "domain/goals",
    "adapters/sqlite/journal.py",
    "adapters/dynamodb/turn",
)
"""What is drawn from: folders and modules of the package."""

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
_LOGGING = "log."


@dataclass(frozen=True)
class DrawnMutant(Mutant):
    """A mutant at a place: `start` and `end` are offsets of `old` in the module's source."""

    start: int = 0
    end: int = 0

    def mutated(self, source: str) -> str:
        """The module with the change."""
        return source[: self.start] + self.new + source[self.end :]

    def statement(self, tree: ast.AST, source: str) -> ast.stmt:
        """The innermost statement of a function in which the change begins."""
        return self._innermost(tree, source, self.start)


def draw_mutants(number: int, seed: str, parts: Sequence[str] = PARTS) -> tuple[DrawnMutant, ...]:
    """Draw mutants from all that the operators make of the parts, at most one per statement."""
    found = [mutant for path in _modules(parts) for mutant in _of_module(path)]
    random.Random(seed).shuffle(found)  # noqa: S311  - a sample, no secret
    drawn: dict[tuple[str, int], DrawnMutant] = {}
    for mutant in found:
        if len(drawn) == number:
            break
        source = mutant.source()
        statement = mutant.statement(ast.parse(source), source)
        place = (mutant.module, statement.lineno)
        if place not in drawn and _is_exchangeable(source, mutant.mutated(source)):
            drawn[place] = mutant
    return tuple(sorted(drawn.values(), key=lambda each: each.id))


def _modules(parts: Sequence[str]) -> Iterator[Path]:
    package = ROOT / SOURCES / "opencrab"
    for part in parts:
        here = package / part
        yield from [here] if here.suffix else sorted(here.rglob("*.py"))


def _of_module(path: Path) -> Iterator[DrawnMutant]:
    module = ".".join(path.relative_to(ROOT / SOURCES).with_suffix("").parts)
    return mutants_of_source(module, path.read_text(encoding="utf-8"))


def mutants_of_source(module: str, source: str) -> Iterator[DrawnMutant]:
    """Every mutant of a module's functions."""
    text = _Text(source)
    for function in _functions(ast.parse(source)):
        for node in (inner for statement in function.body for inner in ast.walk(statement)):
            if isinstance(node, ast.expr | ast.stmt):
                changes = ((kind, change(node)) for kind, change in _CHANGES.items())
                yield from (text.mutant(module, node, k, new) for k, new in changes if new)


class _Text:
    """A module's source, in which nodes have offsets."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._lines = source.splitlines(keepends=True)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))

    def mutant(self, module: str, node: ast.expr | ast.stmt, kind: str, new: str) -> DrawnMutant:
        """What the module is with a node replaced."""
        start = self._offset(node.lineno, node.col_offset)
        end = self._offset(node.end_lineno or 0, node.end_col_offset or 0)
        old = self.source[start:end]
        place = f"{module.removeprefix('opencrab.')}:{node.lineno}"
        change = f"{' '.join(old.split())[:100]} -> {' '.join(new.split())[:100]}"
        return DrawnMutant(
            id=f"{place}:{node.col_offset}:{kind}",
            module=module,
            old=old,
            new=new,
            fault=f"{place}: {change}",
            start=start,
            end=end,
        )

    def _offset(self, line: int, column: int) -> int:
        """The offset of a place that `ast` tells in lines and UTF-8 bytes."""
        before = self._lines[line - 1].encode()[:column]
        return self._starts[line - 1] + len(before.decode())


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """The outermost functions of a module and of its classes."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node
        elif isinstance(node, ast.ClassDef):
            yield from (each for each in node.body if isinstance(each, ast.FunctionDef))


def _comparison(node: ast.AST) -> str | None:
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return None
    swapped = ast.Compare(node.left, [_COMPARISONS[type(node.ops[0])]()], node.comparators)
    return f"({ast.unparse(swapped)})"


def _logic(node: ast.AST) -> str | None:
    if not isinstance(node, ast.BoolOp):
        return None
    other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    return f"({ast.unparse(ast.BoolOp(other, node.values))})"


def _one_operand_less(node: ast.AST) -> str | None:
    if not isinstance(node, ast.BoolOp):
        return None
    left = node.values[1:]
    return f"({ast.unparse(left[0] if len(left) == 1 else ast.BoolOp(node.op, left))})"


def _negation(node: ast.AST) -> str | None:
    is_not = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    return f"({ast.unparse(node.operand)})" if is_not else None  # type: ignore[attr-defined]


def _arithmetic(node: ast.AST) -> str | None:
    if not isinstance(node, ast.BinOp) or type(node.op) not in _OPERATORS:
        return None
    other = _OPERATORS[type(node.op)]()
    return f"({ast.unparse(ast.BinOp(node.left, other, node.right))})"


def _constant(node: ast.AST) -> str | None:
    if not isinstance(node, ast.Constant):
        return None
    if isinstance(node.value, bool):
        return str(not node.value)
    return str(node.value + 1) if isinstance(node.value, int) else None


def _deletion(node: ast.AST) -> str | None:
    """Delete a call for its effect, `continue`, or an assignment to an attribute or an item."""
    if isinstance(node, ast.Continue):
        return "break"
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return None if ast.unparse(node).startswith(_LOGGING) else "pass"
    if isinstance(node, ast.AugAssign):
        return "pass"
    is_stored = isinstance(node, ast.Assign) and not isinstance(
        node.targets[0], ast.Name | ast.Tuple
    )
    return "pass" if is_stored else None


def _keyword(node: ast.AST) -> str | None:
    """Leave out the last keyword argument of a call."""
    if not isinstance(node, ast.Call) or not node.keywords or node.keywords[-1].arg is None:
        return None
    return ast.unparse(ast.Call(node.func, node.args, node.keywords[:-1]))


def _condition(node: ast.AST) -> str | None:
    """Take always the first branch of a conditional expression."""
    return f"({ast.unparse(node.body)})" if isinstance(node, ast.IfExp) else None


_CHANGES: dict[str, Callable[[ast.AST], str | None]] = {
    "comparison": _comparison,
    "logic": _logic,
    "operand": _one_operand_less,
    "negation": _negation,
    "arithmetic": _arithmetic,
    "constant": _constant,
    "deletion": _deletion,
    "keyword": _keyword,
    "condition": _condition,
}


def _is_exchangeable(before: str, after: str) -> bool:
    """Whether running functions can get the code: it compiles, and closes over the same names."""
    try:
        old, new = (compile(source, "module", "exec") for source in (before, after))
    except SyntaxError:
        return False
    return [code.co_freevars for code in _codes(old)] == [code.co_freevars for code in _codes(new)]


def _codes(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from _codes(each)
