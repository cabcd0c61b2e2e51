"""The WebSocket function on AWS: what API Gateway tells of connections, and the table's stream.

Nobody here holds a connection open: who is connected and what they watch lies in the table, and
what they are told goes through API Gateway. Only its own words say which connection something is
from; no frame can name another.
"""

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import urlencode

from opencrab.domain.document import Document
from opencrab.domain.errors import (
    Exhausted,
    Invalid,
    OpenCrabError,
    Refused,
    Unauthenticated,
    Unavailable,
)
from opencrab.domain.value import Language
from opencrab.engine.conversation.live import LiveStart, VisibleKinds, WatchTarget
from opencrab.engine.runtime import Runtime
from opencrab.engine.websocket import connections
from opencrab.engine.websocket.connections import Flooding, Pause
from opencrab.gateways.language.accept_language import language_of_http_request
from opencrab.gateways.websocket import dispatch, requests
from opencrab.gateways.websocket.authentication import ConnectionGate
from opencrab.gateways.websocket.pushing import Pusher
from opencrab.ports.conversation.feed import FeedEntry
from opencrab.ports.conversation.push import Push

Entries = Callable[[Iterable[Mapping[str, Any]]], Iterable[FeedEntry]]

_STATUS: tuple[tuple[type[OpenCrabError], int], ...] = (
    (Unauthenticated, 401),
    (Refused, 403),
    (Exhausted, 429),
    (Unavailable, 503),
    (OpenCrabError, 500),
)


class Gateway:
    """The handler of the WebSocket function's events.

    Args:
        runtime: The installation.
        push: Sends to connections through API Gateway.
        origins: The web pages that may connect.
        entries: Converts records of the table's stream to feed entries.
        pause: Sleeps before a retry when several frames of one connection conflict.
    """

    def __init__(
        self,
        runtime: Runtime,
        push: Push,
        origins: frozenset[str],
        entries: Entries,
        pause: Pause | None = None,
    ) -> None:
        self._runtime = runtime
        self._pusher = Pusher(runtime, push)
        self._entrance = ConnectionGate(runtime, origins)
        self._entries = entries
        self._pause: Pause = pause or threading.Event().wait

    def __call__(self, event: Mapping[str, Any]) -> dict[str, Any] | None:
        """Answer a WebSocket event, or push a batch of the table's stream."""
        if "Records" in event:
            self._pusher.push_entries(self._entries(event["Records"]))
            return None
        context = event["requestContext"]
        connection_id = str(context["connectionId"])
        match context["eventType"]:
            case "CONNECT":
                return self._connected(connection_id, event)
            case "DISCONNECT":
                connections.close_websocket_connection(self._runtime.home.facts, connection_id)
            case _:
                self._heard(connection_id, event)
        return {"statusCode": 200}

    def _connected(self, connection_id: str, event: Mapping[str, Any]) -> dict[str, Any]:
        headers = {
            str(name).lower(): str(text) for name, text in (event.get("headers") or {}).items()
        }
        query = urlencode(event.get("queryStringParameters") or {})
        language = language_of_http_request(headers.get("accept-language", ""))
        try:
            key = self._entrance.key(headers, query)
            connections.open_websocket_connection(self._runtime, connection_id, key, language)
        except OpenCrabError as error:
            status = next(status for kind, status in _STATUS if isinstance(error, kind))
            told = dispatch.websocket_frame_problem(error, language)
            return {"statusCode": status, "body": json.dumps(told)}
        return {"statusCode": 200}

    def _heard(self, connection_id: str, event: Mapping[str, Any]) -> None:
        """Carry out a frame; closes a connection that floods or whose key is invalid."""
        try:
            principal = connections.count_websocket_connection_message(
                self._runtime, connection_id, self._pause
            )
        except (Unauthenticated, Flooding) as error:
            self._refuse(connection_id, error)
            self._pusher.disconnect(connection_id)
            return
        except Unavailable as error:
            self._refuse(
                connection_id, error, requests.websocket_frame_id(str(event.get("body") or ""))
            )
            return
        watches = _Stored(self._runtime, connection_id, self._pause)
        try:
            text = _text(event)
        except OpenCrabError as error:
            self._refuse(connection_id, error)
            return
        answered = dispatch.answer_websocket_frame(
            self._runtime, principal, watches, text, lambda: self._language(connection_id)
        )
        if self._pusher.send(connection_id, answered):
            self._tell_past(connection_id, watches)

    def _refuse(
        self, connection_id: str, error: OpenCrabError, frame_id: str | None = None
    ) -> None:
        told = dispatch.websocket_frame_problem(error, self._language(connection_id), frame_id)
        self._pusher.send(connection_id, told)

    def _language(self, connection_id: str) -> Language:
        return connections.websocket_connection_language(self._runtime.home.facts, connection_id)

    def _tell_past(self, connection_id: str, watches: "_Stored") -> None:
        for watched, begun in watches.begun:
            if begun.gap is not None and not self._pusher.send(connection_id, begun.gap):
                return
            watcher = watches.fact(watched)
            if watched.kind == "session" and watcher is not None:
                self._pusher.catch_up(watched.id, watcher, begun.newest)


class _Stored:
    """The stored watches of a connection, with those that began in this invocation."""

    def __init__(self, runtime: Runtime, connection_id: str, pause: Pause) -> None:
        self._runtime = runtime
        self._connection_id = connection_id
        self._pause = pause
        self.begun: list[tuple[WatchTarget, LiveStart]] = []

    def begin(self, watched: WatchTarget, visible: VisibleKinds, after: int | None) -> int:
        begun = connections.start_websocket_watch(
            self._runtime, self._connection_id, watched, visible, after, pause=self._pause
        )
        self.begun.append((watched, begun))
        return begun.place

    def end(self, watched: WatchTarget) -> bool:
        return connections.end_websocket_watch(
            self._runtime, self._connection_id, watched, self._pause
        )

    def fact(self, watched: WatchTarget) -> Document | None:
        """Load the watcher as it is stored."""
        kind = connections.WATCHERS[watched.kind]
        key = connections.websocket_connection_fact_id(self._connection_id)
        return self._runtime.home.facts.get(watched.id, kind, key)


def _text(event: Mapping[str, Any]) -> str:
    """Return the text of a frame; raises Invalid for a binary one."""
    if event.get("isBase64Encoded"):
        raise Invalid("binary frames are not supported", cure="send JSON in text frames")
    return str(event.get("body") or "")
