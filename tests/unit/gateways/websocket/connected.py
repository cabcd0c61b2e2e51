"""A WebSocket function in this process: connections that note what they are sent, or fail to."""

import json
from collections.abc import Iterator
from typing import Any

from opencrab.domain.errors import Changed, NotFound, Unavailable
from opencrab.ports.conversation.feed import FeedEntry


class Contested:
    """Facts of which so many writes come just after somebody else's."""

    def __init__(self, facts: Any, times: int) -> None:
        self._facts, self.times = facts, times

    def __getattr__(self, name: str) -> Any:
        return getattr(self._facts, name)

    def commit(self, *facts: Any, **more: Any) -> None:
        if self.times:
            self.times -= 1
            raise Changed("somebody was faster")
        self._facts.commit(*facts, **more)


class Unreadable:
    """Facts of which none can be read."""

    def __init__(self, facts: Any) -> None:
        self._facts = facts

    def __getattr__(self, name: str) -> Any:
        return getattr(self._facts, name)

    def get(self, *_key: str) -> Any:
        raise Unavailable("the table does not answer")


class Sockets:
    """`ports.push.Push` whose connections a test looks into, ends and blocks."""

    def __init__(self) -> None:
        self.sent: dict[str, list[dict[str, Any]]] = {}
        self.cuts: list[str] = []
        self.gone: set[str] = set()
        self.stuck: set[str] = set()

    def send(self, connection_id: str, text: str) -> None:
        if connection_id in self.gone:
            raise NotFound("the connection is closed")
        if connection_id in self.stuck:
            raise Unavailable("it takes nothing")
        self.sent.setdefault(connection_id, []).append(json.loads(text))

    def disconnect(self, connection_id: str) -> None:
        if connection_id in self.stuck:
            raise Unavailable("it cannot be cut either")
        self.cuts.append(connection_id)
        self.gone.add(connection_id)

    def seen(self, connection_id: str) -> list[dict[str, Any]]:
        """What a connection was sent since the last look."""
        return self.sent.pop(connection_id, [])

    def said(self, connection_id: str) -> list[str]:
        """The words among it."""
        return [event["delta"] for event in self.seen(connection_id) if "delta" in event]


def event(kind: str, connection_id: str, body: Any = None, **changes: Any) -> dict[str, Any]:
    """What API Gateway tells of a connection: CONNECT, MESSAGE or DISCONNECT."""
    context = {"eventType": kind, "connectionId": connection_id, "routeKey": "$default"}
    told: dict[str, Any] = {"requestContext": context, "isBase64Encoded": False, **changes}
    if body is not None:
        told["body"] = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
    return told


def nothing(_records: Any) -> Iterator[FeedEntry]:
    """A stream that tells nothing."""
    return iter(())
