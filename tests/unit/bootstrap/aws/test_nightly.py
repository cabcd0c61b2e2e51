"""The function of the night: built from names alone, without keys, and told by its schedule."""

import gc
import runpy
from typing import Any

import pytest

from opencrab.gateways.aws.nightly import NightWorker
from tests.conftest import ROOT
from tests.unit.bootstrap.aws.test_functions import LAMBDA, PLACES
from tests.unit.gateways.function import own_log

HANDLER = ROOT / "functions" / "meta_analysis" / "handler.py"


def test_the_function_of_the_night_is_built_from_names_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in (PLACES | LAMBDA).items():
        monkeypatch.setenv(name, value)
    with own_log():
        module: dict[str, Any] = runpy.run_path(str(HANDLER))
    gc.unfreeze()
    made = module["_worker"]()
    assert isinstance(made, NightWorker)
    runtime: Any = made._runtime
    nights = runtime.home.nights
    assert nights._url == PLACES["OPENCRAB_AWS__NIGHTS_QUEUE"]
    assert nights._dead_url == PLACES["OPENCRAB_AWS__NIGHTS_DEAD_QUEUE"]
    assert runtime.directory is runtime.models
    assert runtime.secrets is None
    assert runtime.rules.trials.night_hour == 18
    assert made._calls._functions == 4
