"""What is lost is said in the reader's language, also where a source's reader gave it a name."""

import ast
from collections.abc import Iterator
from pathlib import Path

from opencrab.engine.bundle import sources
from opencrab.gateways.cli.bundle.plan import _WHAT


def _said_to_be_lost() -> Iterator[str]:
    """The words that readers of sources have for what they leave out."""
    for module in Path(sources.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            given: list[ast.expr] = []
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                given = node.args[:1] if node.func.attr == "lose" else []
            elif isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
                given = node.value.elts[:1]
            for each in given:
                if isinstance(each, ast.Constant) and isinstance(each.value, str):
                    yield each.value


def test_each_name_of_several_words_has_a_translation() -> None:
    names = {name for name in _said_to_be_lost() if " " in name}
    assert len(names) > 10
    assert names <= _WHAT.keys()
