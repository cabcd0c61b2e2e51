"""Functions that follow the settings file: each works with what was uploaded last."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.providers.registry import no_provider_settings
from opencrab.adapters.system_clock import FakeClock
from opencrab.bootstrap.aws import functions
from opencrab.bootstrap.aws.deployed_models import DeployedModels, models_of_lambda
from opencrab.bootstrap.aws.nightly import lambda_night_worker
from opencrab.bootstrap.aws.uploaded_settings import UploadedSettings, uploaded_settings_of_process
from opencrab.bootstrap.aws.world_inbound import lambda_world_receiver
from opencrab.bootstrap.own_providers import SettingsWithOwnProviders
from opencrab.bootstrap.websocket import websocket_handler
from opencrab.domain.errors import Unavailable
from opencrab.engine.models.own_provider_document import stored_own_model_providers
from opencrab.ports.models.model import ModelNotFound
from opencrab.settings import Settings
from tests.contract.example import NOW
from tests.contract.homes import DISTINCT_HOMES
from tests.unit.bootstrap.aws.test_functions import Store, environment, logging_as_it_was
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


def test_an_alias_that_another_function_knows_already_is_looked_up_before_a_turn_fails() -> None:
    shelf = Shelf()
    followed, watch = uploaded(shelf)
    followed._environment = {}
    store = Store(OPENAI_API_KEY="sk-one")

    def load(overrides: dict[str, Any], *, secret: Callable[[str], str | None]) -> Settings:
        store.loads += 1
        return followed.load(overrides, secret=secret)

    models = DeployedModels(
        lambda: models_of_lambda(store, no_provider_settings, FakeClock(NOW).now, load=load),
        look_early=followed.look_early,
    )
    assert not followed.look()
    assert models.get("openai:gpt-4o").info.name == "openai:gpt-4o"
    shelf.content = b"[llm.aliases]\ntide = 'openai:gpt-5-nano'\n"
    assert not followed.look()
    assert models.get("tide").info.name == "openai:gpt-5-nano"
    assert (shelf.reads, store.loads) == (2, 2)
    # The next event is handled by a function that is built with all of the new settings.
    assert followed.look()
    assert not followed.look()
    for _ in range(3):
        with pytest.raises(ModelNotFound, match="there is no provider 'ebb'"):
            models.get("ebb")
    assert (shelf.reads, store.loads) == (3, 3), "once for each event"
    followed.look()
    with pytest.raises(ModelNotFound):
        models.get("ebb")
    assert shelf.reads == 4
    watch.pass_a_look()
    shelf.is_silent = True
    followed.look()
    with pytest.raises(ModelNotFound):
        models.get("ebb")


def test_a_provider_that_was_added_meanwhile_is_looked_up_once_for_each_event(
    tmp_path: Path,
) -> None:
    followed, store = UploadedSettings(None, None, lambda: 0.0), Store()
    with DISTINCT_HOMES[0](tmp_path, FakeClock(NOW)) as home:
        own = SettingsWithOwnProviders(store.load, home.facts).load
        models = DeployedModels(
            lambda: models_of_lambda(store, no_provider_settings, FakeClock(NOW).now, load=own),
            look_early=followed.look_early,
        )
        followed.look()
        with pytest.raises(ModelNotFound, match="there is no provider 'mine'"):
            models.get("mine:m")
        server = {"kind": "openai", "base_url": "https://llm.example.org/v1"}
        stored = stored_own_model_providers(home.facts)
        home.facts.commit(stored.replaced(body={"providers": {"mine": server}}))
        store.put("OWN_PROVIDER_MINE_KEY", "sk-own")
        with pytest.raises(ModelNotFound):
            models.get("mine:m")
        followed.look()
        assert models.get("mine:m").info.name == "mine:m"
