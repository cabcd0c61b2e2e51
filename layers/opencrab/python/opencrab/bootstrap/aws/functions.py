"""The composition of the Lambda functions: DynamoDB, SQS and S3, named by the environment.

No call to AWS is made before the first request needs one.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

from opencrab import settings
from opencrab.adapters.aws_client import DeferredAwsClient
from opencrab.adapters.dynamodb.home import stores_on_dynamodb_table
from opencrab.adapters.dynamodb.pulse import DynamoPulse
from opencrab.adapters.dynamodb.usage.counters import DynamoTallies
from opencrab.adapters.dynamodb.usage.ledger import DynamoUsage
from opencrab.adapters.dynamodb.workspace import DynamoLedger
from opencrab.adapters.owner_key import OwnerKey
from opencrab.adapters.s3_files import S3Blobs, S3Files
from opencrab.adapters.secrets import secret_store_from_settings
from opencrab.adapters.sqs import SqsQueue
from opencrab.adapters.system_clock import SystemClock
from opencrab.bootstrap.actions import configured_actions
from opencrab.bootstrap.aws.environment import aws_setting, aws_table_of_process, lambda_log
from opencrab.bootstrap.aws.models import aws_models_from_settings
from opencrab.bootstrap.aws.search import aws_search_from_settings
from opencrab.bootstrap.aws.status import aws_setup_status
from opencrab.bootstrap.consequences import CONSEQUENCES
from opencrab.bootstrap.discord.channel import discord_of
from opencrab.bootstrap.rules import (
    configured_call_retention,
    configured_deleted_version_age,
    configured_engine_rules,
)
from opencrab.bootstrap.world import configured_world_link
from opencrab.domain.models.preferences import Preferences
from opencrab.domain.models.routing import Routing
from opencrab.domain.money.budget import Price
from opencrab.domain.turn.turn import Turn
from opencrab.engine.consequence import BackgroundJob
from opencrab.engine.runtime import NothingToFind, Rules, Runtime
from opencrab.ports.access.keys import Keys
from opencrab.ports.access.secrets import Secrets
from opencrab.ports.clock import Clock
from opencrab.ports.home import Home
from opencrab.ports.models.model import (
    CallUsage,
    ChatModel,
    Embedder,
    ModelInfo,
    ProviderState,
)
from opencrab.ports.models.preferences import StoredPreferences
from opencrab.ports.models.readiness import ProviderHealth

if TYPE_CHECKING:
    from opencrab.adapters.providers.registry import ProviderModels
    from opencrab.adapters.providers.transport.exchange import Transport
    from opencrab.gateways.aws.functions import Worker
    from opencrab.gateways.rest.http.lambda_entry import Answer
    from opencrab.settings import Settings

_STOP_CHECK_MS = 1_000
_ANSWER_PART_MS = 250
_ANSWER_FIRST_MS = 500
"""A call that is answered sooner does not ask who watches: its line comes at once."""
LONGEST_SECONDS = 20
"""Time limit of a REST request: API Gateway allows 30 seconds, including a cold start."""

_MEBIBYTE = 2**20
_LARGEST_FILE = 4 * _MEBIBYTE
"""Largest file in bytes: a Lambda payload has at most 6 MB, and base64 adds a third."""
_FRESH = timedelta(minutes=5)


class DeployedModels:
    """`ports.models.model.Models` and `ProviderDirectory`, created at their first use.

    Most functions never use them. `keyed`, which reads the secrets store, is used only where it
    matters which providers have a key; `models` serves the rest.
    """

    def __init__(
        self,
        models: Callable[[], "ProviderModels"],
        keyed: Callable[[], "ProviderModels"] | None = None,
    ) -> None:
        self._models = _Later(models)
        self._keyed = self._models if keyed is None else _Later(keyed)

    @property
    def routing(self) -> Routing:
        return self._keyed.get().routing

    def get(self, name: str | None) -> ChatModel:
        return self._models.get().get(name)

    def refresh(self, version: int) -> None:
        for later in {self._models, self._keyed}:
            if later.made is not None:
                later.made.refresh(version)

    def price(self, name: str) -> Price | None:
        return self._models.get().price(name)

    def check(self, preferences: Preferences) -> None:
        self._models.get().check(preferences)

    def infos(self) -> tuple[ModelInfo, ...]:
        return self._keyed.get().infos()

    def providers(self) -> tuple[ProviderState, ...]:
        return self._keyed.get().providers()

    def health(self, provider: str, *, timeout_seconds: float) -> ProviderHealth:
        return self._keyed.get().health(provider, timeout_seconds=timeout_seconds)

    def readiness(
        self,
        providers: Iterable[str] | None = None,
        *,
        wait_seconds: float,
        newer_than_seconds: float | None = None,
    ) -> Mapping[str, ProviderHealth]:
        return self._keyed.get().readiness(
            providers, wait_seconds=wait_seconds, newer_than_seconds=newer_than_seconds
        )

    def call_usage(self, provider: str, call_id: str, *, timeout_seconds: float) -> CallUsage:
        directory = self._keyed.get()
        return directory.call_usage(provider, call_id, timeout_seconds=timeout_seconds)

    def embedder(self, name: str | None) -> Embedder:
        return self._keyed.get().embedder(name)


class _Later:
    """Models that are created at their first use."""

    def __init__(self, make: Callable[[], "ProviderModels"]) -> None:
        self._make = make
        self.made: ProviderModels | None = None

    def get(self) -> "ProviderModels":
        """Return the models, creating them once; concurrent first calls may create equal copies."""
        if self.made is None:
            self.made = self._make()
        return self.made


class LaterSecrets:
    """`ports.access.secrets.Secrets` of a store that is opened at its first use."""

    def __init__(self, place: str, clock: Clock) -> None:
        self._opened = cache(lambda: secret_store_from_settings(place, clock))

    def get(self, name: str) -> str | None:
        return self._opened().get(name)

    def put(self, name: str, value: str) -> None:
        self._opened().put(name, value)

    def forget(self) -> None:
        self._opened().forget()


def models_of_lambda(
    secrets: Secrets | None,
    stored: Callable[[], StoredPreferences],
    now: Callable[[], datetime],
    advice: str = "store {} where the workers read it",
    load: Callable[..., "Settings"] = settings.load_settings,
) -> "ProviderModels":
    """Create the models of an installation, with keys from its secrets store.

    Settings and keys are read again after five minutes, so that a new key needs no deployment.
    Without `secrets` every key is taken to be set, which is enough to list models.
    """
    from opencrab.adapters.providers.registry import ProviderModels

    return ProviderModels(
        lambda: aws_models_from_settings(load, secrets),
        _transport,
        stored=stored,
        now=now,
        keep_for=_FRESH,
        advice=advice,
    )


def lambda_turn_worker(jobs: Iterable[BackgroundJob[Runtime, Any]] = ()) -> "Worker":
    """Build the handler of the queues and the schedule; `jobs` are background turns, if any."""
    from opencrab.gateways.aws.functions import Worker

    configured = settings.load_settings({})
    clock = SystemClock()
    logs = lambda_log(configured)
    place = aws_setting(configured, "secrets")
    secrets = LaterSecrets(place, clock)
    home = _home(configured, clock, consistent=False, on_turn=logs.on_turn)
    advice = f"store {{}} in {place.partition(':')[0]}, as docs/how-to/deploy-to-aws.md says"
    stored = home.preferences.get
    models = DeployedModels(lambda: models_of_lambda(secrets, stored, clock.now, advice))
    runtime = replace(_runtime(configured, home, clock, models, secrets), jobs=jobs)
    endpoint = str(configured.get("aws.websocket_endpoint"))
    if endpoint:
        # Only for who has a WebSocket API: this is more to load at a cold start.
        from opencrab.bootstrap.aws.answers import aws_answer_pusher

        runtime = replace(runtime, answers=aws_answer_pusher(endpoint, runtime))
    return Worker(runtime, logs, DynamoPulse(aws_table_of_process(configured)).beat)


def lambda_compaction_worker() -> "Callable[[Mapping[str, Any], Any], dict[str, Any]]":
    """Build the handler of the compaction queue; no other function imports its code."""
    from opencrab.bootstrap.jobs import JOBS
    from opencrab.engine.turn.background import run_background_turn

    made = lambda_turn_worker(JOBS)
    return lambda event, context: made.run_compactions(event, context, run_background_turn)


def lambda_rest_handler() -> "Answer":
    """Build the handler of the HTTP API."""
    from opencrab.gateways.rest.fastapi_import import load_http_app_quickly

    load_http_app_quickly()
    from opencrab.bootstrap.discord.bot import discord_bot_from_settings
    from opencrab.gateways.rest.app import create_rest_app, withhold_page_from_rest_app
    from opencrab.gateways.rest.http.lambda_entry import http_request_handler
    from opencrab.gateways.rest.http.polling import PollingWatch

    configured = settings.load_settings({})
    logs = lambda_log(configured)
    clock = SystemClock()
    home = _home(configured, clock, consistent=True, on_turn=logs.on_turn)
    secrets = LaterSecrets(str(configured.get("aws.secrets")), clock)
    stored = home.preferences.get
    models = DeployedModels(
        lambda: models_of_lambda(None, stored, clock.now),
        lambda: models_of_lambda(secrets, stored, clock.now),
    )
    runtime = _runtime(configured, home, clock, models, secrets)
    pulse = DynamoPulse(aws_table_of_process(configured))
    app = create_rest_app(
        runtime,
        watch=PollingWatch(),
        setup=lambda _language: aws_setup_status(configured, home.budgets, pulse),
        longest_seconds=LONGEST_SECONDS,
        bot=discord_bot_from_settings(configured),
    )
    if not configured.get("dashboard.enabled"):
        withhold_page_from_rest_app(app)
    return http_request_handler(app)


def aws_message_admission(configured: "Settings", clock: SystemClock) -> Runtime:
    """Build the runtime of a function that accepts messages but calls no model and no search."""
    home = _home(configured, clock, consistent=True)
    models = DeployedModels(lambda: models_of_lambda(None, home.preferences.get, clock.now))
    parts = vars(configured_actions(configured, NothingToFind(), _transport))
    return Runtime(
        home=home,
        clock=clock,
        models=models,
        rules=configured_engine_rules(configured),
        consequences=CONSEQUENCES,
        jobs=(),
        **parts,
    )


def _runtime(
    configured: "Settings",
    home: Home,
    clock: Clock,
    models: DeployedModels,
    secrets: Secrets,
) -> Runtime:
    return Runtime(
        home=home,
        clock=clock,
        models=models,
        rules=rules_on_aws(configured),
        directory=models,
        secrets=secrets,
        world=configured_world_link(configured, secrets),
        consequences=CONSEQUENCES,
        jobs=(),
        **vars(
            configured_actions(configured, aws_search_from_settings(configured, clock), _transport)
        ),
        **vars(discord_of(configured, secrets, clock, home.facts)),
    )


def rules_on_aws(configured: "Settings") -> Rules:
    """Return the rules of the engine, sparing where a look is a read and a push a message."""
    return replace(
        configured_engine_rules(configured),
        stop_check_ms=_STOP_CHECK_MS,
        answer_part_ms=_ANSWER_PART_MS,
        answer_first_ms=_ANSWER_FIRST_MS,
    )


def _home(
    configured: "Settings",
    clock: SystemClock,
    *,
    consistent: bool,
    on_turn: Callable[[Turn], None] | None = None,
) -> Home:
    table = aws_table_of_process(configured)
    kept = configured_call_retention(configured)
    stores = stores_on_dynamodb_table(
        table, consistent=consistent, on_turn=on_turn, calls_kept=kept
    )
    sqs, s3 = DeferredAwsClient("sqs"), DeferredAwsClient("s3")
    bucket = aws_setting(configured, "bucket")

    def queue(name: str) -> SqsQueue:
        dead = aws_setting(configured, f"{name}_dead_queue")
        return SqsQueue(sqs, aws_setting(configured, f"{name}_queue"), dead)

    return Home(
        agents=stores.agents,
        sessions=stores.sessions,
        journal=stores.journal,
        turns=queue("turns"),
        deliveries=queue("deliveries"),
        compactions=queue("compactions"),
        interactions=queue("interactions") if configured.get("aws.interactions_queue") else None,
        beats=queue("beats"),
        nights=queue("nights"),
        outbox=stores.outbox,
        due=stores.due,
        facts=stores.facts,
        files=_files(configured, s3, bucket, DynamoLedger(table, clock), clock),
        blobs=S3Blobs(s3, bucket),
        keys=_keys(configured, stores.keys),
        idempotency=stores.idempotency,
        switches=stores.switches,
        budgets=stores.budgets,
        usage=DynamoUsage(table, clock, calls_kept=kept),
        tallies=DynamoTallies(table),
        health=stores.health,
        preferences=stores.preferences,
        eraser=stores.eraser,
        feed=None,
    )


def _files(
    configured: "Settings", s3: Any, bucket: str, ledger: DynamoLedger, clock: SystemClock
) -> S3Files:
    return S3Files(
        s3,
        bucket,
        quota_bytes=int(configured.get("agent.max_workspace_size_mb")) * _MEBIBYTE,
        file_bytes=_LARGEST_FILE,
        ledger=ledger,
        clock=clock,
        deleted_versions_kept=configured_deleted_version_age(configured),
    )


def _keys(configured: "Settings", keys: Keys) -> Keys:
    digest = str(configured.get("aws.owner_key_hash"))
    return OwnerKey(keys, digest.lower()) if digest else keys


@cache
def _transport() -> "Transport":
    """Return one HTTP transport per process, so that its connections are reused between turns."""
    from opencrab.adapters.providers.transport.httpx_transport import HttpxTransport, new_client

    return HttpxTransport(new_client())
