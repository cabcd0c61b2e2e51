"""What moto holds for one installation, read and emptied in place: faster than a new account.

It also remembers the table's earlier states, for reads that DynamoDB may answer from a replica
that is behind.
"""

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar

from moto.backends import get_backend
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.dynamodb.models.dynamo_type import Item
from moto.dynamodb.models.table import Table
from moto.s3.models import FakeDeleteMarker, FakeKey
from moto.sqs.models import Message as QueueMessage

from opencrab.adapters.dynamodb import item as adapter
from tests.aws import REGION, QueueUrls
from tests.moto_tables import copied

CAUGHT_UP = timedelta(seconds=90)
"""No replica is behind for longer, so that a sweep a minute later may still be misled."""

_EARLIER = 64
_MADE_KEYS: Any = FakeKey
_REMEMBERED: tuple[Any, ...] = (Item, Table, FakeKey, FakeDeleteMarker, QueueMessage)
T = TypeVar("T")


@dataclass(frozen=True)
class Message:
    """A message of a queue; `visible_at` in milliseconds since 1970."""

    group: str
    visible_at: float
    in_flight: bool


class MotoState:
    """One table, one bucket, and queues by their purpose."""

    def __init__(self, table: str, bucket: str, queues: Mapping[str, QueueUrls]) -> None:
        self._name = table
        self._bucket_name = bucket
        self._queues = queues
        self._agents: dict[str, Any] = {}
        self._earlier: deque[tuple[datetime, Any]] = deque(maxlen=_EARLIER)
        # Nobody reads the stream, and a transaction would copy all of it.
        self._table.set_stream_specification(None)
        self._table.stream_shard = None

    def wipe(self) -> None:
        """Forget everything; moto remembers each object that it ever made."""
        for key in _MADE_KEYS.instances_tracked:
            key.dispose()
        for kind in _REMEMBERED:
            kind.instances_tracked.clear()
        self._table.items.clear()
        self._earlier.clear()
        self._bucket.keys.clear()
        for urls in self._queues.values():
            for url in (urls.url, urls.dead_url):
                queue = self._queue(url)
                queue._messages.clear()
                queue._pending_messages.clear()
                queue.deleted_messages.clear()

    def keep_agent(self, agent_id: str) -> None:
        """Remember an agent's items, so that they can be put back."""
        pk = f"AGENT#{agent_id}"
        self._agents[agent_id] = next(
            (key, rows) for key, rows in self._table.items.items() if key.value == pk
        )

    def put_back(self, agent_id: str) -> bool:
        """Whether the agent was remembered, and is there again."""
        if agent_id not in self._agents:
            return False
        key, rows = self._agents[agent_id]
        self._table.items[key] = dict(rows)
        return True

    def items(self) -> Iterator[adapter.Item]:
        """Every item of the table."""
        for rows in list(self._table.items.values()):
            yield from (row.to_json()["Attributes"] for row in list(rows.values()))

    def item(self, pk: str, sk: str) -> adapter.Item | None:
        """One item as it is now."""
        key = {"pk": {"S": pk}, "sk": {"S": sk}}
        found = get_backend("dynamodb")[DEFAULT_ACCOUNT_ID][REGION].get_item(self._name, key)
        return None if found is None else found.to_json()["Attributes"]

    def changed(self, now: datetime) -> None:
        """Remember the state that the table has from now on."""
        self._earlier.append((now, copied(self._table).items))

    def as_of(self, behind: int, now: datetime, ask: Callable[[], T]) -> T:
        """What the table would have answered so many changes ago, unless that is too long ago."""
        states = list(self._earlier)
        while behind and (len(states) <= behind or now - states[-behind][0] > CAUGHT_UP):
            behind -= 1
        if not behind:
            return ask()
        table = self._table
        current, table.items = table.items, states[-1 - behind][1]
        try:
            return ask()
        finally:
            table.items = current

    def messages(self, purpose: str) -> list[Message]:
        """A queue's messages, oldest first."""
        queue = self._queue(self._queues[purpose].url)
        pending = queue._pending_messages
        return [
            Message(
                # Without order each message is its own group, and may be kept back at first.
                str(one.group_id or one.id),
                max(one.visible_at, one.delayed_until),
                one in pending,
            )
            for one in queue._messages
        ]

    def dead_letters(self, purpose: str) -> int:
        """How many messages were buried."""
        return len(self._queue(self._queues[purpose].dead_url)._messages)

    def objects(self, prefix: str) -> dict[str, bytes]:
        """Objects whose keys begin so, with their contents."""
        keys = self._bucket.keys
        found = {name: keys.get(name) for name in list(keys) if name.startswith(prefix)}
        return {name: key.value for name, key in found.items() if isinstance(key, FakeKey)}

    def ready(self, purpose: str, now_ms: int) -> bool:
        """Whether a message could be received at this moment."""
        messages = self.messages(purpose)
        held = {one.group for one in messages if one.in_flight and one.visible_at >= now_ms}
        return any(one.visible_at < now_ms and one.group not in held for one in messages)

    def visible(self, purpose: str) -> list[int]:
        """The milliseconds from which messages can be received."""
        return [math.ceil(one.visible_at) for one in self.messages(purpose)]

    @property
    def _table(self) -> Any:
        return get_backend("dynamodb")[DEFAULT_ACCOUNT_ID][REGION].tables[self._name]

    @property
    def _bucket(self) -> Any:
        return get_backend("s3")[DEFAULT_ACCOUNT_ID]["aws"].buckets[self._bucket_name]

    def _queue(self, url: str) -> Any:
        name = url.rpartition("/")[2]
        return get_backend("sqs")[DEFAULT_ACCOUNT_ID][REGION].queues[name]
