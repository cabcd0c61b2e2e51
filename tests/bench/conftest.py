"""The retrieval sets of real conversations and their evaluator, where those are at hand."""

import importlib.util
import os
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import ROOT


@pytest.fixture(scope="session")
def retrieval_sets() -> Path:
    """The folder of the sets, the evaluator and the goals."""
    given = os.environ.get("OPENCRAB_MEMORY_EVAL")
    path = Path(given or ROOT.parent / "shared" / "memory-eval")
    if not (path / "evaluate.py").is_file():
        pytest.skip(f"no retrieval sets in {str(path)!r}: set OPENCRAB_MEMORY_EVAL to their folder")
    return path


@pytest.fixture(scope="session")
def evaluator(retrieval_sets: Path) -> ModuleType:
    """The evaluator, as a module: a process for each set would load the product each time."""
    spec = importlib.util.spec_from_file_location("evaluate", retrieval_sets / "evaluate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    # Its confidence intervals, which no test reads, take a third of its time.
    vars(module)["boot"] = lambda values: [0.0, 0.0]
    return module
