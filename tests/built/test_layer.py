"""The layer of the package has all that a function can load, and leaves out what is local only."""

import re
from functools import cache
from pathlib import Path

import pytest

from tests.built.reach import HANDLERS, PYTHON, modules, reached
from tests.conftest import ROOT

MAKEFILE = ROOT / "layers" / "opencrab" / "Makefile"


@cache
def left_out() -> tuple[str, ...]:
    """What the Makefile leaves out, as names of modules and packages."""
    found = re.search(r"^LOCAL_ONLY := \\\n((?:\t.+\n)+)", MAKEFILE.read_text(), re.M)
    assert found is not None
    paths = found[1].replace("\\", " ").split()
    assert all((PYTHON / path).exists() for path in paths), "the Makefile names what is not there"
    return tuple(path.removesuffix(".py").replace("/", ".") for path in paths)


def is_left_out(module: str) -> bool:
    return any(f"{module}.".startswith(f"{name}.") for name in left_out())


@pytest.mark.parametrize("handler", HANDLERS, ids=lambda path: path.parent.name)
def test_no_function_can_load_what_the_layer_leaves_out(handler: Path) -> None:
    found = reached([handler])
    assert len(found) > 10
    assert not set(filter(is_left_out, found))


def test_learning_in_a_simulation_and_the_command_line_stay_on_the_computer() -> None:
    rooms = {".".join(name.split(".")[:3]) for name in filter(is_left_out, modules())}
    assert {"opencrab.engine.simulation", "opencrab.gateways.cli"} <= rooms
    assert is_left_out("opencrab.adapters.providers.scripted.simulated")
    assert not is_left_out("opencrab.adapters.providers.scripted.model")
    assert not is_left_out("opencrab.adapters.sqlite_search.search")
