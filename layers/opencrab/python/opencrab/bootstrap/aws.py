"""OpenCrab in Lambda functions: DynamoDB, SQS and S3, named by the template's environment.

Nothing here asks AWS anything before the first request needs it.
"""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

from opencrab import __version__, settings
from opencrab.actions import GROUPS, Registry
from opencrab.adapters.aws_client import Deferred
from opencrab.adapters.dynamodb.home import stores_on
from opencrab.adapters.dynamodb.pulse import DynamoPulse
from opencrab.adapters.dynamodb.table import Table
from opencrab.adapters.dynamodb.workspace import DynamoLedger
from opencrab.adapters.owner_key import OwnerKey
from opencrab.adapters.s3_files import S3Blobs, S3Files
from opencrab.adapters.secrets import secrets_from
from opencrab.adapters.sqs import SqsQueue
from opencrab.adapters.system_clock import SystemClock
from opencrab.bootstrap.rules import rules_of
from opencrab.domain.errors import Invalid, Unavailable
from opencrab.domain.turn import Turn
from opencrab.engine.runtime import Runtime
from opencrab.ports.home import Home
from opencrab.ports.keys import Keys
from opencrab.ports.model import ChatModel

if TYPE_CHECKING:
    from opencrab.adapters.providers.configuration import ModelsSettings
    from opencrab.adapters.providers.registry import ProviderModels
    from opencrab.adapters.providers.transport import Transport
    from opencrab.gateways.aws import Journalist, Worker
    from opencrab.gateways.rest.http_api import Answer
    from opencrab.settings import Settings

LONGEST_SECONDS = 20
"""API Gateway gives an HTTP API 30 seconds for an answer, and a cold start is part of them."""

_MEBIBYTE = 2**20
_LARGEST_FILE = 4 * _MEBIBYTE
"""Lambda takes 6 MB, and bytes travel as base64."""
_FRESH = timedelta(minutes=5)
_ELSEWHERE = "kept where the workers read it"


class DeployedModels:
    """`ports.model.Models` whose providers' keys lie in a store of secrets.

    The settings are made when the first model is asked for, and again after five minutes, so that
    a new key needs no deployment.
    """

    def __init__(
        self,
        secret: Callable[[str], str | None],
        now: Callable[[], datetime],
        advice: str = "store {} where the workers read it",
        load: Callable[..., "Settings"] = settings.load,
    ) -> None:
        self._secret = secret
        self._now = now
        self._advice = advice
        self._load = load
        self._known: ModelsSettings | None = None
        self._models: ProviderModels | None = None
        self._until: datetime | None = None

    def get(self, name: str | None) -> ChatModel:
        return self._current().get(name)

    def _current(self) -> "ProviderModels":
        from opencrab.adapters.providers.registry import ProviderModels

        now = self._now()
        if self._models is None or self._until is None or now >= self._until:
            known = thinking(self._load({}, secret=self._secret))
            if self._models is None or known != self._known:
                self._known = known
                self._models = ProviderModels(known, _transport, advice=self._advice)
            self._until = now + _FRESH
        return self._models


def thinking(configured: "Settings") -> "ModelsSettings":
    """The models that these settings allow.

    Nothing takes the place of a default that cannot work: a turn that needs it says what it lacks.
    """
    from opencrab.adapters.providers.configuration import models_settings

    missing = {
        section.removeprefix("llm.providers."): variable
        for section, variable in configured.absent.items()
        if section.startswith("llm.providers.")
    }
    return models_settings(configured.table("llm"), configured.pricing, missing)


def worker() -> "Worker":
    """What the functions behind queues and schedule do."""
    from opencrab.gateways.aws import Worker

    configured = settings.load({})
    clock = SystemClock()
    journalist = _journalist(configured)
    place = _named(configured, "secrets")
    opened = cache(lambda: secrets_from(place, clock))
    advice = f"store {{}} in {place.partition(':')[0]}, as docs/deploy.md says"
    models = DeployedModels(lambda name: opened().get(name), clock.now, advice)
    runtime = _runtime(configured, clock, models, consistent=False, on_turn=journalist.on_turn)
    return Worker(runtime, journalist, DynamoPulse(_table(configured)).beat)


def rest_handler() -> "Answer":
    """What the function behind the HTTP API does."""
    from opencrab.gateways.rest.http_api import answering, load_quickly

    load_quickly()
    from opencrab.gateways.rest.app import create_app
    from opencrab.gateways.rest.watch import PollingWatch

    configured = settings.load({})
    journalist = _journalist(configured)
    clock = SystemClock()
    models = DeployedModels(lambda _name: _ELSEWHERE, clock.now)
    runtime = _runtime(configured, clock, models, consistent=True, on_turn=journalist.on_turn)
    pulse = DynamoPulse(_table(configured))
    app = create_app(
        runtime,
        watch=PollingWatch(),
        setup=lambda: _setup(configured, pulse),
        longest_seconds=LONGEST_SECONDS,
    )
    return answering(app)


def _runtime(
    configured: "Settings",
    clock: SystemClock,
    models: DeployedModels,
    *,
    consistent: bool,
    on_turn: Callable[[Turn], None] | None = None,
) -> Runtime:
    table = _table(configured)
    stores = stores_on(table, consistent=consistent, on_turn=on_turn)
    sqs, s3 = Deferred("sqs"), Deferred("s3")
    bucket = _named(configured, "bucket")
    quota = int(configured.get("agent.max_workspace_size_mb")) * _MEBIBYTE

    def queue(name: str) -> SqsQueue:
        url, dead = _named(configured, f"{name}_queue"), _named(configured, f"{name}_dead_queue")
        return SqsQueue(sqs, url, dead)

    home = Home(
        agents=stores.agents,
        sessions=stores.sessions,
        journal=stores.journal,
        turns=queue("turns"),
        deliveries=queue("deliveries"),
        outbox=stores.outbox,
        due=stores.due,
        files=S3Files(
            s3,
            bucket,
            quota_bytes=quota,
            file_bytes=_LARGEST_FILE,
            ledger=DynamoLedger(table, clock),
            clock=clock,
        ),
        blobs=S3Blobs(s3, bucket),
        keys=_keys(configured, stores.keys),
        idempotency=stores.idempotency,
        switches=stores.switches,
        budgets=stores.budgets,
        feed=None,
    )
    return Runtime(
        home=home,
        clock=clock,
        models=models,
        actions=Registry(GROUPS),
        rules=rules_of(configured),
    )


@cache
def _table_named(name: str) -> Table:
    return Table(name)


def _table(configured: "Settings") -> Table:
    return _table_named(_named(configured, "table"))


def _keys(configured: "Settings", keys: Keys) -> Keys:
    digest = str(configured.get("aws.owner_key_hash"))
    return OwnerKey(keys, digest.lower()) if digest else keys


def _named(configured: "Settings", name: str) -> str:
    value = str(configured.get(f"aws.{name}"))
    if not value:
        variable = f"OPENCRAB_AWS__{name.upper()}"
        raise Invalid(
            f"the environment variable {variable} is not set",
            field=f"aws.{name}",
            cure="deploy with the template, which sets it",
        )
    return value


def _journalist(configured: "Settings") -> "Journalist":
    from opencrab.gateways.aws import Journalist

    names = logging.getLevelNamesMapping()
    level = names.get(str(configured.get("log.level")).upper(), logging.INFO)
    return Journalist(f"opencrab-{configured.get('aws.stage')}", level)


def _setup(configured: "Settings", pulse: DynamoPulse) -> dict[str, Any]:
    """What is configured, and where what is not known here can be found."""
    default = thinking(settings.load({}, secret=lambda _name: _ELSEWHERE)).default
    secrets = str(configured.get("aws.secrets"))
    if not secrets.startswith("ssm:"):
        secrets = secrets.partition(":")[0]  # an ARN names the account
    return {
        "version": __version__,
        "home": {
            "kind": "aws",
            "stage": configured.get("aws.stage"),
            "table": configured.get("aws.table"),
            "secrets": secrets,
        },
        "model": {
            "default": default,
            "notes": [],
        },
        "budget": {
            name: configured.get(f"budget.{name}")
            for name in ("turn_usd", "agent_day_usd", "installation_day_usd")
        },
        "heartbeat": _heartbeat(pulse),
        "missing": [],
    }


def _heartbeat(pulse: DynamoPulse) -> dict[str, str | None] | None:
    """When it came last; None when nobody can say."""
    try:
        last = pulse.last()
    except Unavailable:
        return None
    return {"at": None if last is None else last.isoformat()}


def _transport() -> "Transport":
    from opencrab.adapters.providers.httpx_transport import HttpxTransport, new_client

    return HttpxTransport(new_client())
