"""What AWS holds for one installation, in memory: read and emptied in place.

It also remembers the table's earlier states, for reads that DynamoDB may answer from a replica
that is behind.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from opencrab.adapters.dynamodb.item import Item
from opencrab.adapters.sqlite.database import sqlite_milliseconds
from tests.aws import QueueUrls
from tests.aws_memory.account import MemoryAccount
from tests.aws_memory.queues import StoredMessage
from tests.scale.dynamodb import Key, MemoryTable

CAUGHT_UP = timedelta(seconds=90)
"""No replica is behind for longer, so that a sweep a minute later may still be misled."""

_EARLIER = 64


@dataclass(frozen=True)
class Message:
    """A message of a queue; `visible_at` in milliseconds since 1970."""

    group: str
    visible_at: int
    in_flight: bool


class AwsState:
    """One table, one bucket, and queues by their purpose."""

    def __init__(
        self,
        table: MemoryTable,
        account: MemoryAccount,
        bucket: str,
        queues: Mapping[str, QueueUrls],
    ) -> None:
        self._table = table
        self._account = account
        self._bucket = account.buckets.create(bucket)
        self._queues = queues
        self._agents: dict[str, list[Item]] = {}
        self._earlier: deque[tuple[datetime, dict[Key, Item]]] = deque(maxlen=_EARLIER)

    def wipe(self) -> None:
        """Forget everything."""
        self._table.clear()
        self._earlier.clear()
        self._bucket.clear()
        self._account.queues.clear()

    def keep_agent(self, agent_id: str) -> None:
        """Remember an agent's items, so that they can be put back."""
        pk = f"AGENT#{agent_id}"
        self._agents[agent_id] = [item for item in self.items() if item["pk"]["S"] == pk]

    def put_back(self, agent_id: str) -> bool:
        """Whether the agent was remembered, and is there again."""
        if agent_id not in self._agents:
            return False
        self._table.fill(self._agents[agent_id])
        return True

    def begin(self) -> None:
        """What is there now has been there for long: no read knows an earlier state."""
        self._earlier.clear()

    def items(self) -> Iterator[Item]:
        """Every item of the table."""
        yield from list(self._table.items.values())

    def item(self, pk: str, sk: str) -> Item | None:
        """One item as it is now."""
        return self._table.items.get((pk, sk))

    def changed(self, now: datetime) -> None:
        """Remember the state that the table has from now on; no item is ever changed in place."""
        self._earlier.append((now, dict(self._table.items)))

    def as_of(self, behind: int, now: datetime) -> MemoryTable:
        """The table as it was so many changes ago, unless that is too long ago."""
        states = list(self._earlier)
        while behind and (len(states) <= behind or now - states[-behind][0] > CAUGHT_UP):
            behind -= 1
        if not behind:
            return self._table
        earlier = MemoryTable()
        earlier.fill(states[-1 - behind][1].values())
        return earlier

    def messages(self, purpose: str) -> list[Message]:
        """A queue's messages, oldest first."""
        return [
            Message(
                # Without order each message is its own group, and may be kept back at first.
                one.group or one.id,
                sqlite_milliseconds(one.visible_at),
                one.receipt is not None,
            )
            for one in self._stored(self._queues[purpose].url)
        ]

    def dead_letters(self, purpose: str) -> int:
        """How many messages were buried."""
        return len(self._stored(self._queues[purpose].dead_url))

    def objects(self, prefix: str) -> dict[str, bytes]:
        """Objects whose keys begin so, with their contents."""
        latest = {key: versions[-1].content for key, versions in self._bucket.items()}
        return {
            key: content
            for key, content in latest.items()
            if content is not None and key.startswith(prefix)
        }

    def ready(self, purpose: str, now_ms: int) -> bool:
        """Whether a message could be received at this moment."""
        messages = self.messages(purpose)
        held = {one.group for one in messages if one.in_flight and one.visible_at > now_ms}
        return any(one.visible_at <= now_ms and one.group not in held for one in messages)

    def visible(self, purpose: str) -> list[int]:
        """The milliseconds from which messages can be received."""
        return [one.visible_at for one in self.messages(purpose)]

    def _stored(self, url: str) -> list[StoredMessage]:
        return self._account.queues.queue(url).messages
