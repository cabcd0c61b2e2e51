"""The entrance of a WebSocket: who connects, by a key or by a ticket, and from which page."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs

from opencrab.domain.errors import Refused, Unauthenticated
from opencrab.domain.identifier import content_hash
from opencrab.engine.conversation.key_holders import conversation_connection_holder
from opencrab.engine.runtime import Runtime
from opencrab.engine.websocket.connections import (
    redeem_websocket_ticket,
)

_CURE = "send the header `Authorization: Bearer <key>`, or a ticket from POST /api/tickets"


@dataclass(frozen=True)
class ConnectionGate:
    """The check of new connections; `origins` are the web pages that may connect.

    Only browsers send an Origin, and they always do: a client without one is not a browser.
    """

    runtime: Runtime
    origins: frozenset[str]

    def key(self, headers: Mapping[str, str], query: str) -> str:
        """Return the hash of the key of a connection; header names are in lower case.

        Raises Refused for a foreign Origin, before a ticket is used up, and Unauthenticated.
        """
        origin = headers.get("origin")
        if origin is not None and origin.rstrip("/").lower() not in self.origins:
            raise Refused(
                "this Origin is not allowed to connect",
                field="Origin",
                cure="add it to gateway.websocket.origins",
            )
        key = self._by_header(headers) or self._by_ticket(query)
        conversation_connection_holder(self.runtime.home.keys, key)
        return key

    def _by_header(self, headers: Mapping[str, str]) -> str | None:
        given = headers.get("authorization")
        if given is None:
            return None
        scheme, _, secret = given.partition(" ")
        secret = secret.strip()
        if scheme.lower() != "bearer" or not secret or " " in secret:
            message = "the Authorization header must be `Bearer <key>`"
            raise Unauthenticated(message, field="Authorization", cure=_CURE)
        return content_hash(secret.encode())

    def _by_ticket(self, query: str) -> str:
        tickets = parse_qs(query, errors="replace").get("ticket", [])
        if len(tickets) != 1:
            raise Unauthenticated("this needs an API key or a ticket", cure=_CURE)
        return redeem_websocket_ticket(self.runtime, tickets[0])


def allowed_websocket_origins(configured: object) -> frozenset[str]:
    """Return the allowed origins, normalised for comparison."""
    listed = configured if isinstance(configured, list | tuple) else []
    return frozenset(str(origin).rstrip("/").lower() for origin in listed if origin)
