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
from opencrab.adapters.dynamodb.table import Table
from opencrab.adapters.dynamodb.workspace import DynamoLedger
from opencrab.adapters.owner_key import OwnerKey
from opencrab.adapters.s3_files import S3Blobs, S3Files
from opencrab.adapters.secrets import secrets_from
from opencrab.adapters.sqs import SqsQueue
from opencrab.adapters.system_clock import SystemClock
from opencrab.bootstrap.rules import rules_of
from opencrab.domain.errors import Invalid
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
_LARGEST_FILE = 5 * _MEBIBYTE
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
        load: Callable[..., "Settings"] = settings.load,
    ) -> None:
        self._secret = secret
        self._now = now
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
                self._known, self._models = known, ProviderModels(known, _transport)
            self._until = now + _FRESH
        return self._models


def thinking(configured: "Settings") -> "ModelsSettings":
    """The models that these settings allow, with a default that can work."""
    from opencrab.adapters.providers.configuration import models_settings
    from opencrab.adapters.providers.registry import usable

    missing = {
        section.removeprefix("llm.providers."): variable
        for section, variable in configured.absent.items()
        if section.startswith("llm.providers.")
    }
    return usable(models_settings(configured.table("llm"), configured.pricing, missing), None)


def worker() -> "Worker":
    """What the functions behind queues and schedule do."""
    from opencrab.gateways.aws import Worker

    configured = settings.load({})
    clock = SystemClock()
    journalist = _journalist(configured)
    place = _named(configured, "secrets")
    opened = cache(lambda: secrets_from(place, clock))
    models = DeployedModels(lambda name: opened().get(name), clock.now)
    runtime = _runtime(configured, clock, models, consistent=False, on_turn=journalist.on_turn)
    return Worker(runtime, journalist)


def rest_handler() -> "Answer":
    """What the function behind the HTTP API does."""
    from opencrab.gateways.rest.http_api import answering, load_quickly

    load_quickly()
    from opencrab.gateways.rest.app import create_app
    from opencrab.gateways.rest.watch import PollingWatch

    configured = settings.load({})
    _journalist(configured)
    clock = SystemClock()
    models = DeployedModels(lambda _name: _ELSEWHERE, clock.now)
    runtime = _runtime(configured, clock, models, consistent=True)
    app = create_app(
        runtime,
        watch=PollingWatch(),
        setup=lambda: _setup(configured),
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
    table = Table(_named(configured, "table"))
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


def _setup(configured: "Settings") -> dict[str, Any]:
    """What is configured, and where what is not known here can be found."""
    default = thinking(settings.load({}, secret=lambda _name: _ELSEWHERE)).default
    secrets = configured.get("aws.secrets")
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
            "notes": [f"keys of providers lie in {secrets}; a turn says which one is missing"],
        },
        "budget": {
            name: configured.get(f"budget.{name}")
            for name in ("turn_usd", "agent_day_usd", "installation_day_usd")
        },
        "missing": [],
    }


def _transport() -> "Transport":
    from opencrab.adapters.providers.httpx_transport import HttpxTransport, new_client

    return HttpxTransport(new_client())
