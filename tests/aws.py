"""An AWS account in this process: moto, in the time of the test's clock, one call after another.

Moto lacks some of what AWS promises. What the adapters rely on is added here and in
`tests/sqs_rules.py`, each with its reason; nothing in moto is replaced.
"""

import json
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import count
from typing import Any, Protocol
from urllib.parse import urlsplit

import botocore.session
import time_machine
from botocore import UNSIGNED
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.config import Config
from moto import mock_aws
from moto.core.models import botocore_stubber
from moto.s3.models import s3_backends
from moto.sqs.models import sqs_backends

from opencrab.adapters.sqs import SqsQueue
from opencrab.ports.clock import Clock
from opencrab.ports.turn.queue import Queue
from tests.aws_faults import Fault
from tests.sqs_rules import SqsRules

REGION = "ap-northeast-1"
ACCOUNT_ID = "123456789012"
"""Whose account moto takes every request for."""

MAX_RECEIVES = 1_000
RETENTION_SECONDS = 14 * 24 * 3_600

_numbers = count(1)
_idle: dict[str, list[Any]] = defaultdict(list)
"""Clients of accounts that are closed, by their kind: making one takes longer than most tests."""

_one_call = threading.RLock()
"""AWS's calls are atomic; moto's interleave where threads happen to switch."""


@dataclass(frozen=True)
class QueueUrls:
    """A queue and its dead letters."""

    url: str
    dead_url: str


class Services(Protocol):
    """What a home needs of an account, whether moto answers or memory (`tests/aws_memory`)."""

    def client(self, service: str) -> Any:
        """A client of one service."""

    def queue(self, purpose: str) -> QueueUrls:
        """A FIFO queue with dead letters."""

    def standard_queue(self, purpose: str) -> QueueUrls:
        """A standard queue with dead letters."""

    def bucket(self, purpose: str = "data") -> str:
        """An empty bucket that keeps versions."""


def _itself(client: Any) -> Any:
    return client


def _unsigned(**_: Any) -> Any:
    return UNSIGNED


def _url(queue: Any) -> str:
    """Where moto serves a queue."""
    return str(queue.url(urlsplit(f"https://sqs.{REGION}.amazonaws.com")))


class Account:
    """What one installation has on AWS; every name in it is its own."""

    def __init__(self, clock: Clock) -> None:
        self.stage = f"t{next(_numbers)}"
        self._clock = clock
        self._time = _Time(clock)
        self._sqs = SqsRules(self._time.now)
        self._clients: dict[str, Any] = {}
        self._lent: list[tuple[str, Any, Any]] = []
        self._faults: deque[Fault] = deque()

    def client(self, service: str) -> Any:
        """A client of one service of this account; always the same."""
        if service not in self._clients:
            self._clients[service] = self.lent(service, lambda: open_client(service))
        return self._clients[service]

    def lent(self, kind: str, make: Callable[[], Any], of: Callable[[Any], Any] = _itself) -> Any:
        """Something with a client that this account answers until it closes; `of` is the client.

        It may have been another account's, which is closed.
        """
        found = _idle[kind].pop() if _idle[kind] else make()
        self._lent.append((kind, found, self.served(of(found))))
        return found

    def close(self) -> None:
        """Answer no more; another account may have what was lent."""
        while self._lent:
            kind, found, client = self._lent.pop()
            client.meta.events.unregister("before-send", self._answer)
            _idle[kind].append(found)

    def served(self, client: Any) -> Any:
        """The client, answered by this account: also for one that a library made (pynamodb)."""
        # Botocore asks every handler and takes the first answer: moto must not hear it twice.
        client.meta.events.unregister("before-send", botocore_stubber)
        # Moto finds tables without a signature, and most requests are for tables.
        client.meta.events.register("choose-signer.dynamodb", _unsigned, unique_id="unsigned")
        client.meta.events.register("before-send", self._answer)
        return client

    def fails(self, *faults: Fault) -> None:
        """What becomes of the next attempts, one after another."""
        self._faults.extend(faults)

    def queue(self, purpose: str) -> QueueUrls:
        """A FIFO queue with dead letters, as infra/data.yaml makes it."""
        name = f"opencrab-{self.stage}-{purpose}"
        dead = self._create(f"{name}-dead.fifo", {"FifoQueue": "true"})
        policy = {"deadLetterTargetArn": dead.queue_arn, "maxReceiveCount": MAX_RECEIVES}
        fifo = self._create(
            f"{name}.fifo", {"FifoQueue": "true", "RedrivePolicy": json.dumps(policy)}
        )
        return QueueUrls(_url(fifo), _url(dead))

    def standard_queue(self, purpose: str) -> QueueUrls:
        """A standard queue with dead letters."""
        name = f"opencrab-{self.stage}-{purpose}"
        return QueueUrls(_url(self._create(name, {})), _url(self._create(f"{name}-dead", {})))

    def bucket(self, purpose: str = "data") -> str:
        """An empty bucket that keeps versions; past botocore, as the queues."""
        name = f"opencrab-{self.stage}-{purpose}"
        with _one_call, self._time.standing_still():
            s3 = s3_backends[ACCOUNT_ID]["aws"]
            s3.create_bucket(name, REGION)
            s3.put_bucket_versioning(name, "Enabled")
        return name

    def _create(self, name: str, attributes: dict[str, str]) -> Any:
        """Past botocore, since each home has a dozen queues, and most tests need none of them."""
        attributes["MessageRetentionPeriod"] = str(RETENTION_SECONDS)
        with _one_call, self._time.standing_still():
            return sqs_backends[ACCOUNT_ID][REGION].create_queue(name, None, **attributes)

    def _answer(self, event_name: str, request: AWSPreparedRequest, **_: Any) -> AWSResponse | None:
        """Answer a request before it would be sent; botocore calls this for every attempt."""
        with self._sqs.waiting(event_name, request), _one_call, self._time.standing_still():

            def go() -> AWSResponse | None:
                return self._sqs.answer(event_name, request, botocore_stubber)

            return self._faults.popleft()(request, go) if self._faults else go()


class _Time:
    """The test's time, while moto answers; no two requests happen in the same microsecond.

    Between requests the process has its real time, and what measures durations (timeouts, waits,
    hypothesis) always has: time-machine leaves monotonic clocks alone.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        passed = timedelta(milliseconds=clock.monotonic_ms())
        self._start = clock.now() - passed
        self._requests = 0

    def now(self) -> datetime:
        """The moment of the present request; a clock that steps when looked at does not step."""
        passed = timedelta(milliseconds=self._clock.monotonic_ms(), microseconds=self._requests)
        return self._start + passed

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """Within the block, everybody who asks gets the same moment."""
        self._requests += 1
        # Without its zone, so that the process keeps its own; time-machine takes it as UTC.
        with time_machine.travel(self.now().astimezone(UTC).replace(tzinfo=None), tick=False):
            yield


@contextmanager
def account(clock: Clock) -> Iterator[Account]:
    """An empty account, as long as the block lasts; what it kept goes with the last one open."""
    # Credentials are given to each client, so that the environment stays as it is.
    with mock_aws(config={"core": {"mock_credentials": False, "reset_boto3_session": False}}):
        opened = Account(clock)
        try:
            yield opened
        finally:
            opened.close()


@contextmanager
def aws_queues(clock: Clock) -> Iterator[tuple[Queue, Queue]]:
    """Turns and deliveries in an account of their own."""
    with account(clock) as opened:
        yield turns_and_deliveries(opened)


def turns_and_deliveries(opened: Services) -> tuple[Queue, Queue]:
    """The two queues that most tests need."""
    turns, deliveries = opened.queue("turns"), opened.queue("deliveries")
    sqs = opened.client("sqs")
    return (
        SqsQueue(sqs, turns.url, turns.dead_url),
        SqsQueue(sqs, deliveries.url, deliveries.dead_url),
    )


def queue_of(opened: Services, name: str) -> Queue:
    """One of the other queues, such as the one on which summaries are asked for."""
    urls = opened.queue(name)
    return SqsQueue(opened.client("sqs"), urls.url, urls.dead_url)


def beats_of(opened: Services, purpose: str = "beats") -> Queue:
    """The queue of beats, or of nights, which keeps no order."""
    urls = opened.standard_queue(purpose)
    return SqsQueue(opened.client("sqs"), urls.url, urls.dead_url)


def open_client(service: str) -> Any:
    """A client with made-up credentials and no patience: nothing here is worth a second try."""
    return _session().create_client(
        service,
        region_name=REGION,
        aws_access_key_id="made-up",
        aws_secret_access_key="made-up",
        config=Config(retries={"mode": "standard", "total_max_attempts": 1}, user_agent="tests"),
    )


@cache
def _session() -> Any:
    return botocore.session.get_session()
