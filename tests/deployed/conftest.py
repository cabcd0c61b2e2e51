"""Which worker of `make test-deployed` has which tests."""

from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

HERE = ("tests/deployed/", "tests/emulated/")
ALONE = ("tests/deployed/test_tutorial.py", "tests/deployed/test_updates.py")
"""Modules whose tests have an emulator of their own."""

TOGETHER = "tests/deployed/test_stack_updates.py"
"""A module with an emulator for all of its tests."""


def group_of(nodeid: str) -> str:
    """What one worker has as a whole: all tests of the stack, which is deployed once."""
    file = nodeid.partition("::")[0]
    if file in ALONE:
        return nodeid
    return "stack" if file.startswith(HERE) and file != TOGETHER else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Hand out the tests so. Marks do it no longer: pytest 9.2 hides them from pytest-xdist."""
    scheduler = LoadScopeScheduling(config, log)
    scheduler._split_scope = group_of
    return scheduler
