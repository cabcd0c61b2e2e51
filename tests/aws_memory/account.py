"""An AWS account in memory: queues and buckets that answer at once, as `tests/aws.py` has them.

Its table is `tests.scale.dynamodb.MemoryTable`. Nothing is signed, written as JSON or XML, or read
again; what does that on the way to AWS is tried with moto, under the same contracts.
"""

from datetime import datetime, timedelta
from itertools import count
from typing import Any

from opencrab.ports.clock import Clock
from tests.aws import ACCOUNT_ID, MAX_RECEIVES, REGION, RETENTION_SECONDS, QueueUrls
from tests.aws_memory.buckets import MemoryBuckets
from tests.aws_memory.queues import MemoryQueues, StoredQueue

_numbers = count(1)


class MemoryAccount:
    """What one installation has on AWS; every name in it is its own."""

    def __init__(self, clock: Clock) -> None:
        self.stage = f"m{next(_numbers)}"
        self._clock = clock
        self._start = clock.now() - timedelta(milliseconds=clock.monotonic_ms())
        self.queues = MemoryQueues(self._now)
        self.buckets = MemoryBuckets(self._now)

    def client(self, service: str) -> Any:
        """A client of one service of this account; always the same."""
        return {"sqs": self.queues.client, "s3": self.buckets.client}[service]

    def queue(self, purpose: str) -> QueueUrls:
        """A FIFO queue with dead letters, as infra/data.yaml makes it."""
        return self._queue(purpose, ".fifo", MAX_RECEIVES)

    def standard_queue(self, purpose: str) -> QueueUrls:
        """A standard queue with dead letters."""
        return self._queue(purpose, "", 0)

    def bucket(self, purpose: str = "data") -> str:
        """An empty bucket that keeps versions."""
        name = f"opencrab-{self.stage}-{purpose}"
        self.buckets.create(name)
        return name

    def _queue(self, purpose: str, suffix: str, most_receives: int) -> QueueUrls:
        dead = self._create(f"{purpose}-dead{suffix}", None, 0)
        target = dead if most_receives else None
        return QueueUrls(self._create(f"{purpose}{suffix}", target, most_receives).url, dead.url)

    def _create(self, name: str, dead: StoredQueue | None, most_receives: int) -> StoredQueue:
        url = f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT_ID}/opencrab-{self.stage}-{name}"
        retention = timedelta(seconds=RETENTION_SECONDS)
        return self.queues.create(url, retention, dead=dead, most_receives=most_receives)

    def _now(self) -> datetime:
        """The moment of the present call; a clock that steps when looked at does not step."""
        return self._start + timedelta(milliseconds=self._clock.monotonic_ms())
