"""OpenCrab in Lambda functions: built from names alone, and models that learn of new keys."""

import gc
import json
import logging
import runpy
from collections.abc import Callable, Iterator
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from opencrab import settings
from opencrab.adapters.providers.registry import ProviderModels, no_provider_settings
from opencrab.adapters.providers.transport import http_connections
from opencrab.adapters.providers.transport.http_connections import HttpConnections
from opencrab.adapters.system_clock import FakeClock
from opencrab.bootstrap.aws import deployed_models, functions
from opencrab.bootstrap.aws.deployed_models import DeployedModels, models_of_lambda
from opencrab.bootstrap.aws.functions import LaterSecrets
from opencrab.bootstrap.aws.models import aws_models_from_settings
from opencrab.bootstrap.aws.status import aws_setup_status
from opencrab.domain.errors import Invalid, Unavailable
from opencrab.domain.identifier import content_hash
from opencrab.domain.models.preferences import Preferences
from opencrab.gateways.cli.doctor.server_checks import CheckVerdict, check_setup_by_doctor
from opencrab.gateways.cli.language.sentences import CliLanguage, SentenceCatalog, cli_languages
from opencrab.ports.models.preferences import StoredPreferences
from opencrab.settings import Settings
from tests.conftest import ROOT
from tests.contract.example import NOW
from tests.unit.gateways.function import Call, own_log

QUEUE = "https://sqs.ap-northeast-1.amazonaws.com/123456789012/opencrab-dev"
PLACES = {
    "OPENCRAB_AWS__STAGE": "dev",
    "OPENCRAB_AWS__TABLE": "opencrab-dev",
    "OPENCRAB_AWS__BUCKET": "opencrab-dev-123456789012",
    "OPENCRAB_AWS__TURNS_QUEUE": f"{QUEUE}-turns.fifo",
    "OPENCRAB_AWS__TURNS_DEAD_QUEUE": f"{QUEUE}-turns-dead.fifo",
    "OPENCRAB_AWS__DELIVERIES_QUEUE": f"{QUEUE}-deliveries.fifo",
    "OPENCRAB_AWS__DELIVERIES_DEAD_QUEUE": f"{QUEUE}-deliveries-dead.fifo",
    "OPENCRAB_AWS__INTERACTIONS_QUEUE": f"{QUEUE}-interactions.fifo",
    "OPENCRAB_AWS__INTERACTIONS_DEAD_QUEUE": f"{QUEUE}-interactions-dead.fifo",
    "OPENCRAB_AWS__COMPACTIONS_QUEUE": f"{QUEUE}-compactions.fifo",
    "OPENCRAB_AWS__COMPACTIONS_DEAD_QUEUE": f"{QUEUE}-compactions-dead.fifo",
    "OPENCRAB_AWS__BEATS_QUEUE": f"{QUEUE}-beats",
    "OPENCRAB_AWS__NIGHTS_QUEUE": f"{QUEUE}-nights",
    "OPENCRAB_AWS__BEATS_DEAD_QUEUE": f"{QUEUE}-background-dead",
    "OPENCRAB_AWS__NIGHTS_DEAD_QUEUE": f"{QUEUE}-background-dead",
    "OPENCRAB_AWS__SECRETS": "ssm:/opencrab/dev/",
}
_MAY_BE_MISSING = {"OPENCRAB_AWS__STAGE", "OPENCRAB_AWS__INTERACTIONS_QUEUE"}
LAMBDA = {
    "AWS_DEFAULT_REGION": "ap-northeast-1",
    **dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "made-up"),
    "POWERTOOLS_SERVICE_NAME": "opencrab",
}


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """A `LambdaLog` takes the whole process's log."""
    with own_log():
        yield


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """What the template sets, and nothing else. There is no network: a call of AWS would fail."""
    for name in settings.load_settings({}, {}).values:
        monkeypatch.delenv("OPENCRAB_" + name.upper().replace(".", "__"), raising=False)
    for name, value in (PLACES | LAMBDA).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return monkeypatch


class Store:
    """Secrets, and how often settings were made of them."""

    def __init__(self, **secrets: str) -> None:
        self.secrets = secrets
        self.loads = 0
        self.forgotten = 0
        self.silent = False

    def get(self, name: str) -> str | None:
        if self.silent:
            raise Unavailable("the store does not answer")
        return self.secrets.get(name)

    def put(self, name: str, value: str) -> None:
        self.secrets[name] = value

    def forget(self) -> None:
        self.forgotten += 1

    def load(self, overrides: dict[str, Any], *, secret: Callable[[str], str | None]) -> Settings:
        self.loads += 1
        return settings.load_settings(overrides, {}, secret=secret)


def deployed(store: Store) -> tuple[DeployedModels, FakeClock]:
    """Deployed models, and their clock."""
    clock = FakeClock(NOW)
    return DeployedModels(
        lambda: models_of_lambda(store, no_provider_settings, clock.now, load=store.load)
    ), clock


def test_nothing_is_asked_before_a_model_is_wanted() -> None:
    store = Store()
    deployed(store)
    assert store.loads == 0


def test_models_are_kept_for_five_minutes_without_another_look() -> None:
    store = Store(OPENAI_API_KEY="sk-one")
    models, clock = deployed(store)
    first = models.get("openai:gpt-4o")
    clock.advance(299.9)
    assert models.get("openai:gpt-4o") is first
    assert store.loads == 1


def test_equal_settings_keep_their_models_and_connections() -> None:
    store = Store(OPENAI_API_KEY="sk-one")
    models, clock = deployed(store)
    first = models.get("openai:gpt-4o")
    clock.advance(timedelta(minutes=5).total_seconds())
    assert models.get("openai:gpt-4o") is first
    assert store.loads == 2
    clock.advance(299)
    models.get(None)
    assert store.loads == 2


def test_a_new_key_is_seen_after_five_minutes() -> None:
    store = Store()
    models, clock = deployed(store)
    with pytest.raises(Invalid, match="OPENAI_API_KEY"):
        models.get("openai:gpt-4o")
    store.secrets["OPENAI_API_KEY"] = "sk-new"
    with pytest.raises(Invalid, match="OPENAI_API_KEY"):
        models.get(None)
    clock.advance(300)
    assert models.get(None).info.name == "openai:gpt-4o"


def test_a_changed_key_makes_new_models() -> None:
    store = Store(OPENAI_API_KEY="sk-one")
    models, clock = deployed(store)
    first = models.get("openai:gpt-4o")
    store.secrets["OPENAI_API_KEY"] = "sk-two"
    clock.advance(300)
    assert models.get("openai:gpt-4o") is not first


def test_a_store_that_does_not_answer_is_asked_again_by_the_next_turn() -> None:
    store = Store(OPENAI_API_KEY="sk-one")
    models, _clock = deployed(store)
    store.silent = True
    with pytest.raises(Unavailable):
        models.get(None)
    store.silent = False
    assert models.get(None).info.name == "openai:gpt-4o"


def test_a_new_version_of_the_preferences_brings_new_keys_at_once() -> None:
    store, shelf = Store(), [StoredPreferences(Preferences())]
    models = DeployedModels(
        lambda: models_of_lambda(store, lambda: shelf[0], FakeClock(NOW).now, load=store.load)
    )
    models.refresh(1)
    assert store.loads == 0
    with pytest.raises(Invalid):
        models.get(None)
    store.put("OPENAI_API_KEY", "sk-new")
    shelf[0] = StoredPreferences(Preferences(aliases={"own": "openai:gpt-5.2"}), 1)
    models.refresh(1)
    assert models.get("own").info.name == "openai:gpt-5.2"
    assert store.forgotten == 2


def test_a_kept_key_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-environment")
    known = aws_models_from_settings(settings.load_settings, Store(OPENAI_API_KEY="sk-kept"))
    assert known.providers["openai"].api_key == "sk-kept"


def test_a_server_on_the_function_itself_is_nobody() -> None:
    models, _clock = deployed(Store(OPENAI_API_KEY="sk-one"))
    assert models.routing.fallback == ("openai",)
    with pytest.raises(Invalid, match="the machine on which the function runs"):
        models.get("local")


def test_who_only_names_models_opens_no_store() -> None:
    def keyed() -> ProviderModels:
        raise AssertionError("nobody asked about providers")

    clock = FakeClock(NOW)
    models = DeployedModels(lambda: models_of_lambda(None, no_provider_settings, clock.now), keyed)
    for name in (None, "smart", "claude_best", "azure:mine", "gemini_smart"):
        assert models.get(name).info.name
    models.check(Preferences(fallback=("anthropic",)))
    models.refresh(3)


def test_who_asks_about_providers_is_told_of_the_real_keys() -> None:
    store, clock = Store(OPENAI_API_KEY="sk-one"), FakeClock(NOW)
    models = DeployedModels(
        lambda: models_of_lambda(None, no_provider_settings, clock.now),
        lambda: models_of_lambda(store, no_provider_settings, clock.now, load=store.load),
    )
    keys = {each.name for each in models.providers() if each.has_key}
    assert keys == {"openai"}
    assert set(models.routing.uses.values()) == {
        "openai:gpt-5.2",
        "openai:gpt-5-mini",
        "openai:text-embedding-3-large",
    }
    assert {info.provider for info in models.infos()} >= {"openai", "anthropic", "google"}


def test_secrets_are_opened_by_the_first_question() -> None:
    secrets = LaterSecrets("nowhere", FakeClock(NOW))
    with pytest.raises(Invalid, match="is not a valid secrets location"):
        secrets.get("X")
    with pytest.raises(Invalid, match="is not a valid secrets location"):
        secrets.put("X", "y")
    with pytest.raises(Invalid, match="is not a valid secrets location"):
        secrets.forget()


def test_a_provider_without_its_key_is_missed_and_not_replaced() -> None:
    models, _clock = deployed(Store())
    with pytest.raises(Invalid, match="OPENAI_API_KEY is not set") as caught:
        models.get(None)
    assert caught.value.cure == "store OPENAI_API_KEY where the workers read it"


def test_a_worker_is_built_from_names_alone(environment: pytest.MonkeyPatch) -> None:
    made = functions.lambda_turn_worker()()
    assert made.run_turns({"Records": []}, Call()) == {"batchItemFailures": []}
    assert made.send_deliveries({"Records": []}, Call()) == {"batchItemFailures": []}


class Halves:
    """A worker that tells which of its halves was asked."""

    def run_heartbeats(self, _event: object, _context: object) -> str:
        return "beats"

    def sweep(self, _event: object, _context: object) -> str:
        return "sweep"


def test_the_heartbeat_tells_its_queue_from_its_schedule(environment: pytest.MonkeyPatch) -> None:
    path = ROOT / "functions" / "heartbeat" / "handler.py"
    # Run, not imported: bytecode beside the handler would be shipped with it.
    handler = runpy.run_path(str(path))["handler"]
    assert handler({"Records": []}, Call()) == {"batchItemFailures": []}
    handler.__globals__["_worker"] = Halves
    assert handler({"Records": []}, Call()) == "beats"
    assert handler({"source": "aws.events", "detail-type": "Scheduled Event"}, Call()) == "sweep"
    gc.unfreeze()


def test_the_rest_handler_is_built_from_names_alone_and_lives(
    environment: pytest.MonkeyPatch,
) -> None:
    environment.delenv("OPENCRAB_AWS__SECRETS")
    answer = functions.lambda_rest_handler()(request("/api/health"), Call())
    assert answer["statusCode"] == 200
    assert json.loads(answer["body"])["status"] == "ok"


def test_the_owner_gets_in_without_a_table(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("OPENCRAB_AWS__OWNER_KEY_HASH", content_hash(b"oc_owner").upper())
    asked = request("/api/openapi.json", authorization="Bearer oc_owner")
    answer = functions.lambda_rest_handler()(asked, Call())
    assert answer["statusCode"] == 200
    assert json.loads(answer["body"])["info"]["title"] == "OpenCrab"


@pytest.mark.parametrize("missing", [name for name in PLACES if name not in _MAY_BE_MISSING])
def test_a_missing_name_is_an_error_that_says_which(
    environment: pytest.MonkeyPatch, missing: str
) -> None:
    environment.delenv(missing)
    with pytest.raises(Invalid, match=missing) as caught:
        functions.lambda_turn_worker()
    assert caught.value.field == missing.removeprefix("OPENCRAB_").lower().replace("__", ".")
    assert caught.value.cure


@pytest.mark.parametrize(
    ("word", "level"), [("debug", logging.DEBUG), ("ERROR", logging.ERROR), ("loud", logging.INFO)]
)
def test_the_level_of_the_log_is_a_setting(
    environment: pytest.MonkeyPatch, word: str, level: int
) -> None:
    environment.setenv("OPENCRAB_LOG__LEVEL", word)
    functions.lambda_turn_worker()
    assert logging.getLogger().level == level


@pytest.mark.parametrize("tongue", cli_languages())
def test_doctor_understands_the_setup(environment: pytest.MonkeyPatch, tongue: CliLanguage) -> None:
    setup = aws_setup_status(settings.load_settings, limited(), beating())
    assert json.loads(json.dumps(setup)) == setup
    assert setup["home"]["table"] == "opencrab-dev"
    findings = list(check_setup_by_doctor(SentenceCatalog(tongue), setup, NOW))
    assert {finding.verdict for finding in findings} == {CheckVerdict.WELL}
    told = " ".join(finding.detail for finding in findings)
    for word in ("dev", "opencrab-dev", "openai:gpt-4o", "ssm:/opencrab/dev/"):
        assert word in told


def test_the_setup_tells_no_secret(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("OPENAI_API_KEY", "sk-secret")
    environment.setenv("OPENCRAB_AWS__OWNER_KEY_HASH", "f" * 64)
    told = json.dumps(aws_setup_status(settings.load_settings, limited(), beating()))
    assert "sk-secret" not in told
    assert "f" * 64 not in told


def test_the_setup_shows_the_limits_in_force(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("OPENCRAB_BUDGET__TURN_USD", "0.25")
    load, limits = settings.load_settings, limited(agent_day_micro_usd=7)
    shown = aws_setup_status(load, limits, beating())["budget"]
    assert (shown["turn_usd"], shown["agent_day_usd"]) == (0.25, 0.000007)
    assert (shown["session_usd"], shown["changed"]) == (None, ["agent_day_usd"])

    def fails() -> Any:
        raise Unavailable("not now")

    assert aws_setup_status(load, SimpleNamespace(limits=fails), beating())["budget"] is None


def limited(**limits: int) -> Any:
    """Budgets of which some limits were set at run time."""
    return SimpleNamespace(limits=lambda: limits)


def beating() -> Any:
    """A pulse that was felt a minute ago."""
    return SimpleNamespace(last=lambda: NOW - timedelta(seconds=60))


def request(path: str, **headers: str) -> dict[str, Any]:
    """An event of the HTTP API."""
    return {
        "version": "2.0",
        "routeKey": "GET " + path,
        "rawPath": path,
        "rawQueryString": "",
        "headers": headers,
        "requestContext": {
            "stage": "$default",
            "http": {"method": "GET", "path": path, "sourceIp": "192.0.2.1"},
        },
        "isBase64Encoded": False,
    }


def test_all_models_of_a_process_share_their_connections(
    environment: pytest.MonkeyPatch,
) -> None:
    store = Store(OPENAI_API_KEY="sk-one")
    made: list[HttpConnections] = []
    deployed_models.aws_transport_of_process.cache_clear()

    def connections() -> HttpConnections:
        made.append(HttpConnections())
        return made[-1]

    environment.setattr(http_connections, "HttpConnections", connections)
    for _ in range(2):
        models, _clock = deployed(store)
        for name in ("openai:gpt-4o", "openai:gpt-4o-mini", "openai"):
            models.get(name)
        models.embedder(None)
    assert len(made) == 1
    deployed_models.aws_transport_of_process.cache_clear()


def test_a_key_is_kept_under_its_own_name_whatever_else_is_missing() -> None:
    store = Store()
    models = deployed(store)[0]
    azure = next(each for each in models.providers() if each.name == "azure")
    assert azure.key_name == "AZURE_OPENAI_API_KEY"
    store.put(azure.key_name, "sk-azure")
    again = next(each for each in deployed(store)[0].providers() if each.name == "azure")
    assert (again.has_key, again.missing) == (True, "AZURE_OPENAI_ENDPOINT")
