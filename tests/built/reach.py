"""What the functions can load: every module of ours that an import leads to, lazy ones too."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.conftest import ROOT

PYTHON = ROOT / "layers" / "opencrab" / "python"
HANDLERS = sorted((ROOT / "functions").glob("*/handler.py"))
COMMAND = "opencrab.bootstrap.local.entry"
"""What the `opencrab` command begins with, which no function is."""


def reached(sources: list[Path]) -> set[str]:
    """The modules that some programs can load, without the command line's first one."""
    found, new = set[str](), {name for path in sources for name in _imports(path)}
    while new:
        found |= new
        new = {name for each in new for name in _imports(file_of(each))} - found
    return found


def modules() -> set[str]:
    """All modules of the package."""
    return {_name(path) for path in (PYTHON / "opencrab").rglob("*.py")}


def file_of(module: str) -> Path:
    """Where a module is."""
    path = PYTHON.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _name(path: Path) -> str:
    return ".".join(path.relative_to(PYTHON).with_suffix("").parts).removesuffix(".__init__")


@cache
def _imports(path: Path) -> frozenset[str]:
    """Modules of ours that a file imports, with the packages that they are in."""
    found = set[str]()
    for node in _running(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            named = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            named = [node.module, *(f"{node.module}.{each.name}" for each in node.names)]
        else:
            continue
        for name in named:
            if name.startswith("opencrab") and name != COMMAND and file_of(name).is_file():
                parts = name.split(".")
                found.update(".".join(parts[: end + 1]) for end in range(len(parts)))
    return frozenset(found)


def _running(node: ast.AST) -> Iterator[ast.AST]:
    """All that can run; what only a type checker reads is left out."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        yield child
        yield from _running(child)
