"""Code as source: modules, their names, what they define and import, and rules for them."""

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from tests.conftest import ROOT

PACKAGE = ROOT / "layers" / "opencrab" / "python" / "opencrab"

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef


@dataclass(frozen=True)
class Module:
    """One module, of the package or of the tests, read but not run."""

    name: str
    path: Path

    @cached_property
    def text(self) -> str:
        """Its source."""
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax."""
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every part of its syntax."""
        return tuple(ast.walk(self.tree))

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """Its functions and methods, inner ones included."""
        return tuple(node for node in self.nodes if isinstance(node, Function))

    @property
    def definitions(self) -> Iterator[Definition]:
        """Its functions, methods and classes."""
        return (node for node in self.nodes if isinstance(node, Definition))

    @property
    def imports(self) -> Iterator[str]:
        """Every module that it imports, wherever it does so: `from a import b` gives a and a.b."""
        for node in self.nodes:
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield node.module
                yield from (f"{node.module}.{alias.name}" for alias in node.names)

    def imports_any_of(self, forbidden: frozenset[str]) -> set[str]:
        """Which of these modules it imports, or parts of them."""
        return {
            name
            for name in self.imports
            if any(name == each or name.startswith(f"{each}.") for each in forbidden)
        }


@cache
def modules() -> tuple[Module, ...]:
    """All modules of the package."""
    return tuple(
        Module(_name(path), path) for path in sorted(PACKAGE.rglob("*.py")) if path.is_file()
    )


def modules_of(*packages: str) -> tuple[Module, ...]:
    """The modules of some parts of the package, as in `modules_of("domain", "ports")`."""
    found = tuple(module for module in modules() if part(module) in packages)
    missing = set(packages) - {part(module) for module in found}
    if missing:
        raise LookupError(f"no modules in {', '.join(sorted(missing))}")
    return found


def part(module: Module) -> str:
    """The part of the package that a module belongs to, as in `domain`; empty for the root."""
    return module.name.partition(".")[2].partition(".")[0]


def obey(rule: Callable[[Module], Iterable[str]], found: Iterable[Module]) -> None:
    """Hold modules to a rule; AssertionError names each that breaks it, with what the rule says.

    Raises LookupError when there are no modules, since they would all obey.
    """
    said = {module.name: sorted(rule(module)) for module in found}
    if not said:
        raise LookupError("no modules to hold to a rule")
    broken = [f"{name}: {', '.join(wrong)}" for name, wrong in said.items() if wrong]
    assert not broken, "\n" + "\n".join(broken)


def _name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
