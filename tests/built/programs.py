"""The programs that make the layer of libraries, which belong to no package."""

import importlib.util
from types import ModuleType

from tests.conftest import ROOT


def program(name: str) -> ModuleType:
    """One of layers/dependencies."""
    path = ROOT / "layers" / "dependencies" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
