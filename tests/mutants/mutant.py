"""One seeded mutant: a small fault in the product that some test must notice."""

import ast
import re
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import ROOT

SOURCES = Path("layers/opencrab/python")
"""Where the package lies in a checkout."""

_TOKEN = re.compile(r"\w+|[^\w\s]")


class StaleError(ValueError):
    """A fragment is not in its module, or more than once: the list must follow the code."""


@dataclass(frozen=True)
class Mutant:
    """A fault: `old` in a module becomes `new`, and a user suffers what `fault` says.

    `old` must be found exactly once, however it is broken into lines.
    """

    id: str
    module: str
    old: str
    new: str
    fault: str

    @property
    def path(self) -> Path:
        """The file of the module, from the root of a checkout."""
        return SOURCES.joinpath(*self.module.split(".")).with_suffix(".py")

    def source(self, root: Path = ROOT) -> str:
        """The module as it is; raises StaleError where there is none."""
        try:
            return (root / self.path).read_text(encoding="utf-8")
        except FileNotFoundError:
            raise StaleError(f"stale mutant {self.id!r}: no module {self.module!r}") from None

    def place(self, source: str) -> re.Match[str]:
        """Where the fragment is; raises StaleError unless it is there exactly once."""
        found = list(_pattern(self.old).finditer(source))
        if len(found) != 1:
            raise StaleError(
                f"stale mutant {self.id!r}: its fragment is {len(found)} times in {self.module!r}"
            )
        return found[0]

    def mutated(self, source: str) -> str:
        """The module with the fault; raises StaleError."""
        place = self.place(source)
        return source[: place.start()] + self.new + source[place.end() :]

    def statement(self, tree: ast.AST, source: str) -> ast.stmt:
        """The innermost statement of a function in which the fragment begins; raises StaleError."""
        return self._innermost(tree, source, self.place(source).start())

    def _innermost(self, tree: ast.AST, source: str, start: int) -> ast.stmt:
        before = source[:start]
        at = (before.count("\n") + 1, len(before.rpartition("\n")[2].encode()))
        found = [
            inner
            for function in ast.walk(tree)
            if isinstance(function, ast.FunctionDef)
            for inner in _statements(function)
            if _covers(inner, at)
        ]
        if not found:
            raise StaleError(f"stale mutant {self.id!r}: its fragment is in no function")
        return min(found, key=_length)


def _pattern(fragment: str) -> re.Pattern[str]:
    """The fragment's tokens, with any space between them."""
    tokens = r"\s*".join(map(re.escape, _TOKEN.findall(fragment)))
    start = r"(?<!\w)" if re.match(r"\w", fragment) else ""
    end = r"(?!\w)" if re.search(r"\w$", fragment) else ""
    return re.compile(start + tokens + end)


def _statements(function: ast.FunctionDef) -> list[ast.stmt]:
    inner = (node for statement in function.body for node in ast.walk(statement))
    return [node for node in inner if isinstance(node, ast.stmt)]


def _covers(statement: ast.stmt, at: tuple[int, int]) -> bool:
    start = (statement.lineno, statement.col_offset)
    return start <= at < (statement.end_lineno or 0, statement.end_col_offset or 0)


def _length(statement: ast.stmt) -> tuple[int, int]:
    lines = (statement.end_lineno or 0) - statement.lineno
    return lines, -statement.col_offset
