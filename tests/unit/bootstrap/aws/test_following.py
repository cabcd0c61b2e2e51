"""Functions that follow the settings file: each works with what was uploaded last."""

from typing import Any

import pytest

from opencrab.bootstrap.aws import functions
from opencrab.bootstrap.aws.nightly import lambda_night_worker
from opencrab.bootstrap.aws.uploaded_settings import uploaded_settings_of_process
from opencrab.bootstrap.aws.world_inbound import lambda_world_receiver
from opencrab.bootstrap.websocket import websocket_handler
from opencrab.domain.errors import Unavailable
from tests.unit.bootstrap.aws.test_functions import environment, logging_as_it_was
from tests.unit.bootstrap.aws.test_uploaded_settings import Shelf, uploaded
from tests.unit.gateways.function import Call

__all__ = ["environment", "logging_as_it_was"]

FILE = b"""[web]
allow = ["https://docs.example.org/"]
[budget]
turn_usd = 0.25
[llm.fallback]
chain = ["anthropic"]
"""


def test_a_worker_gets_pages_limits_and_fallback_from_a_new_file(
    environment: pytest.MonkeyPatch,
) -> None:
    environment.setenv("OPENCRAB_BUDGET__AGENT_DAY_USD", "1")
    shelf = Shelf()
    followed, watch = uploaded(shelf)
    followed._environment = None
    worker = functions.lambda_turn_worker((), followed)
    before: Any = worker()._runtime
    assert before.web is None
    assert before.actions.find("web_fetch") is None
    shelf.content = FILE
    assert worker()._runtime is before
    watch.pass_a_look()
    after: Any = worker()._runtime
    assert after.web is not None
    assert after.actions.find("web_fetch") is not None
    assert after.rules.limits.turn_micro_usd == 250_000
    assert after.rules.stop_check_ms == before.rules.stop_check_ms
    assert after.search is before.search
    assert after.models is not before.models
    reads = shelf.reads
    for _ in range(50):
        worker()
    assert shelf.reads == reads


@pytest.mark.parametrize(
    ("make", "event"),
    [
        (functions.lambda_rest_handler, ({}, Call())),
        (lambda_world_receiver, ({}, Call())),
        (websocket_handler, ({},)),
        (lambda_night_worker, ()),
    ],
    ids=["rest", "world", "websocket", "night"],
)
def test_every_function_that_needs_settings_asks_for_the_file_with_its_first_event(
    environment: pytest.MonkeyPatch, make: Any, event: tuple[Any, ...]
) -> None:
    environment.setenv("OPENCRAB_AWS__WEBSOCKET_ENDPOINT", "https://api.example.org/live")
    shelf = Shelf()
    shelf.is_silent = True
    followed, _ = uploaded(shelf)
    followed._environment = None
    handle = make(followed)
    assert shelf.reads == 0
    with pytest.raises(Unavailable):
        handle(*event)
    assert shelf.reads == 1


def test_only_a_function_of_the_template_follows_a_file(environment: pytest.MonkeyPatch) -> None:
    uploaded_settings_of_process.cache_clear()
    assert not uploaded_settings_of_process().look()
    uploaded_settings_of_process.cache_clear()
    environment.setenv("OPENCRAB_AWS__SETTINGS_FILE", "on")
    environment.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(Unavailable):
        uploaded_settings_of_process().look()
    uploaded_settings_of_process.cache_clear()
