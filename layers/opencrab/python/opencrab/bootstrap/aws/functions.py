"""The composition of the Lambda functions: DynamoDB, SQS and S3, named by the environment.

No call to AWS is made before the first request needs one.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
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
from opencrab.bootstrap.aws.deployed_models import (
    DeployedModels,
    aws_transport_of_process,
    models_of_lambda,
)
from opencrab.bootstrap.aws.environment import aws_setting, aws_table_of_process, lambda_log
from opencrab.bootstrap.aws.search import aws_search_of_process
from opencrab.bootstrap.aws.status import aws_setup_status, deployed_settings_in_effect
from opencrab.bootstrap.aws.uploaded_settings import (
    FollowingFunction,
    UploadedSettings,
    uploaded_settings_of_process,
)
from opencrab.bootstrap.consequences import CONSEQUENCES, configured_consequences
from opencrab.bootstrap.discord.channel import configured_channels
from opencrab.bootstrap.own_providers import SettingsWithOwnProviders
from opencrab.bootstrap.rules import (
    configured_call_retention,
    configured_deleted_version_age,
    configured_engine_rules,
)
from opencrab.bootstrap.world import configured_world_link
from opencrab.domain.turn.turn import Turn
from opencrab.engine.consequence import BackgroundJob
from opencrab.engine.runtime import NothingToFind, Rules, Runtime
from opencrab.ports.access.keys import Keys
from opencrab.ports.access.secrets import Secrets
from opencrab.ports.clock import Clock
from opencrab.ports.home import Home

if TYPE_CHECKING:
    from opencrab.engine.memory.embedding import MeteredEmbedder
    from opencrab.gateways.aws.functions import Worker
    from opencrab.gateways.aws.lambda_log import LambdaLog
    from opencrab.gateways.rest.http.lambda_entry import Answer
    from opencrab.settings import Settings

_STOP_CHECK_MS = 1_000
_ANSWER_PART_MS = 250
_ANSWER_FIRST_MS = 500
"""A call that is answered sooner does not ask who watches: its line comes at once."""
_STEP_LEASE_SECONDS = 75
"""How long a turn waits for a worker that died; longer than any step that cannot renew it.

At least as long as the minute between two sweeps, so that one of them sees each lease.
"""
LONGEST_SECONDS = 20
"""Time limit of a REST request: API Gateway allows 30 seconds, including a cold start."""

_MEBIBYTE = 2**20
_LARGEST_FILE = 4 * _MEBIBYTE
"""Largest file in bytes: a Lambda payload has at most 6 MB, and base64 adds a third."""


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


def lambda_turn_worker(
    jobs: Iterable[BackgroundJob[Runtime, Any]] = (), uploaded: UploadedSettings | None = None
) -> "Callable[[], Worker]":
    """Build the handler of the queue of turns, which each event asks for.

    `jobs` are background turns, if any.
    """
    from opencrab.engine.turn import run  # noqa: F401 - loaded now, not with the first event

    return lambda_worker(jobs, uploaded)


def lambda_worker(
    jobs: Iterable[BackgroundJob[Runtime, Any]] = (), uploaded: UploadedSettings | None = None
) -> "Callable[[], Worker]":
    """Build the handler of the queues and the schedule; their own engine loads with an event."""
    from opencrab.gateways.aws.functions import Worker

    kept = tuple(jobs)
    logs = lambda_log(settings.load_settings({}))
    followed = uploaded_settings_of_process() if uploaded is None else uploaded

    def build(configured: "Settings", load: Callable[..., "Settings"]) -> Worker:
        runtime = _worker_runtime(configured, load, logs, followed.look_early)
        beat = DynamoPulse(aws_table_of_process(configured)).beat
        return Worker(replace(runtime, jobs=kept), logs, beat)

    return FollowingFunction(build, followed).current


def lambda_heartbeat_worker() -> "Callable[[], Worker]":
    """Build the handler of the schedule and of heartbeats, and load what only these need."""
    from opencrab.engine.autonomy import heartbeat, sweep  # noqa: F401 - as above

    return lambda_worker()


def lambda_delivery_worker() -> "Callable[[], Worker]":
    """Build the handler of deliveries, and load what only these need."""
    from opencrab.engine.conversation import delivery  # noqa: F401 - as above

    return lambda_worker()


def _worker_runtime(
    configured: "Settings",
    load: Callable[..., "Settings"],
    logs: "LambdaLog",
    look_early: Callable[[], bool],
) -> Runtime:
    clock = SystemClock()
    secrets = LaterSecrets(aws_setting(configured, "secrets"), clock)
    home = _home(configured, clock, consistent=False, on_turn=logs.on_turn)
    models = _worker_models(configured, home, clock, secrets, load=load, look_early=look_early)
    runtime = _runtime(configured, home, clock, models, secrets, load=load)
    endpoint = str(configured.get("aws.websocket_endpoint"))
    if not endpoint:
        return runtime
    # Only for who has a WebSocket API: this is more to load at a cold start.
    from opencrab.bootstrap.aws.answers import aws_answer_pusher

    return replace(runtime, answers=aws_answer_pusher(endpoint, runtime))


def _worker_models(
    configured: "Settings",
    home: Home,
    clock: Clock,
    secrets: Secrets,
    *,
    load: Callable[..., "Settings"],
    look_early: Callable[[], bool],
) -> DeployedModels:
    """Return the models of a function that calls them, with the keys of the secrets store."""
    place = aws_setting(configured, "secrets").partition(":")[0]
    advice = f"store {{}} in {place}, as docs/how-to/deploy-to-aws.md says"
    stored, own = home.preferences.get, SettingsWithOwnProviders(load, home.facts).load
    return DeployedModels(
        lambda: models_of_lambda(secrets, stored, clock.now, advice, own), look_early=look_early
    )


def lambda_text_embedder(
    configured: "Settings", load: Callable[..., "Settings"], look_early: Callable[[], bool]
) -> "MeteredEmbedder":
    """Build what embeds for a function that runs no turns of agents; it pays as turns do."""
    from opencrab.bootstrap.vectors import configured_embedder

    clock = SystemClock()
    secrets = LaterSecrets(aws_setting(configured, "secrets"), clock)
    home = _home(configured, clock, consistent=False)
    models = _worker_models(configured, home, clock, secrets, load=load, look_early=look_early)
    return configured_embedder(configured, home.journal, home.agents, models, clock)


def lambda_compaction_worker() -> "Callable[[Mapping[str, Any], Any], dict[str, Any]]":
    """Build the handler of the compaction queue; no other function imports its code."""
    from opencrab.bootstrap.jobs import JOBS
    from opencrab.engine.turn.background import run_background_turn

    made = lambda_turn_worker(JOBS)
    return lambda event, context: made().run_compactions(event, context, run_background_turn)


def lambda_rest_handler(uploaded: UploadedSettings | None = None) -> "Answer":
    """Build the handler of the HTTP API."""
    from opencrab.gateways.rest.fastapi_import import load_http_app_quickly

    load_http_app_quickly()
    logs = lambda_log(settings.load_settings({}))
    followed = uploaded_settings_of_process() if uploaded is None else uploaded

    def build(configured: "Settings", load: Callable[..., "Settings"]) -> "Answer":
        return _rest_answer(configured, load, logs, followed)

    function = FollowingFunction(build, followed)

    def answer(event: dict[str, Any], context: Any) -> dict[str, Any]:
        return function.current()(event, context)

    return answer


def _rest_answer(
    configured: "Settings",
    load: Callable[..., "Settings"],
    logs: "LambdaLog",
    followed: UploadedSettings,
) -> "Answer":
    from opencrab.bootstrap.discord.bot import discord_bot_from_settings
    from opencrab.gateways.rest.app import (
        create_rest_app,
        offer_a2a_to_rest_app,
        offer_ag_ui_to_rest_app,
        offer_rest_app_settings,
        withhold_page_from_rest_app,
    )
    from opencrab.gateways.rest.http.lambda_entry import http_request_handler
    from opencrab.gateways.rest.http.polling import PollingWatch

    clock = SystemClock()
    home = _home(configured, clock, consistent=True, on_turn=logs.on_turn)
    secrets = LaterSecrets(str(configured.get("aws.secrets")), clock)
    stored, own = home.preferences.get, SettingsWithOwnProviders(load, home.facts).load
    models = DeployedModels(
        lambda: models_of_lambda(None, stored, clock.now, load=own),
        lambda: models_of_lambda(secrets, stored, clock.now, load=own),
        look_early=followed.look_early,
    )
    runtime = _runtime(configured, home, clock, models, secrets, load=load)
    pulse = DynamoPulse(aws_table_of_process(configured))
    app = create_rest_app(
        runtime,
        watch=PollingWatch(),
        setup=lambda _language: aws_setup_status(load, home.budgets, pulse, followed.state),
        longest_seconds=LONGEST_SECONDS,
        bot=discord_bot_from_settings(configured),
    )
    offer_rest_app_settings(app, lambda: deployed_settings_in_effect(own))
    if configured.get("gateway.a2a.enabled"):
        offer_a2a_to_rest_app(app, str(configured.get("gateway.a2a.agent")))
    if configured.get("gateway.ag_ui.enabled"):
        offer_ag_ui_to_rest_app(app)
    if not configured.get("dashboard.enabled"):
        withhold_page_from_rest_app(app)
    return http_request_handler(app)


def aws_message_admission(
    configured: "Settings",
    clock: SystemClock,
    load: Callable[..., "Settings"] = settings.load_settings,
) -> Runtime:
    """Build the runtime of a function that accepts messages but calls no model and no search."""
    home = _home(configured, clock, consistent=True)
    stored, own = home.preferences.get, SettingsWithOwnProviders(load, home.facts).load
    models = DeployedModels(lambda: models_of_lambda(None, stored, clock.now, load=own))
    search = NothingToFind()
    parts = vars(configured_actions(configured, search, aws_transport_of_process, home.facts))
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
    *,
    load: Callable[..., "Settings"],
) -> Runtime:
    def embedder() -> "MeteredEmbedder":
        from opencrab.bootstrap.vectors import configured_embedder

        return configured_embedder(configured, home.journal, home.agents, models, clock)

    return Runtime(
        home=home,
        clock=clock,
        models=models,
        rules=rules_on_aws(configured),
        directory=models,
        secrets=secrets,
        world=configured_world_link(configured, secrets),
        consequences=configured_consequences(configured, load, secrets, background=False),
        jobs=(),
        **vars(
            configured_actions(
                configured,
                aws_search_of_process(configured, clock, embedder),
                aws_transport_of_process,
                home.facts,
                load=load,
                secrets=secrets,
            )
        ),
        **configured_channels(configured, secrets, clock, home.facts, load=load),
    )


def rules_on_aws(configured: "Settings") -> Rules:
    """Return the rules of the engine, sparing where a look is a read and a push a message."""
    return replace(
        configured_engine_rules(configured),
        step_lease_seconds=_STEP_LEASE_SECONDS,
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
