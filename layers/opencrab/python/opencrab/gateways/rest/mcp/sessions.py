"""Sessions and origins of MCP's clients, checked without anything being stored.

A session's id is random and signed with the hash of the key that began it, so any process knows
whether it is one of this key. It names the client's connection, not a conversation.
"""

import hmac
import secrets
from collections.abc import Mapping
from http import HTTPStatus
from urllib.parse import urlsplit

from opencrab.domain.mcp.protocol import PROTOCOLS, McpErrorCode
from opencrab.gateways.rest.http.access import Caller
from opencrab.gateways.rest.mcp.rpc import RpcError

SESSION_HEADER = "Mcp-Session-Id"
_VERSION_HEADER = "MCP-Protocol-Version"
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_RANDOM_BYTES = 16


def new_mcp_session(caller: Caller) -> str:
    """Return the id of a new session of a key."""
    random = secrets.token_hex(_RANDOM_BYTES)
    return f"{random}-{_signature(random, caller)}"


def require_mcp_session(headers: Mapping[str, str], caller: Caller) -> str | None:
    """Return the session that a request names, if any; raises RpcError for one of nobody's."""
    named = headers.get(SESSION_HEADER)
    if named is None:
        return None
    random, _, signature = named.partition("-")
    if not hmac.compare_digest(signature.encode(), _signature(random, caller).encode()):
        message = "there is no such session of this key: send initialize again"
        raise RpcError(McpErrorCode.INVALID_REQUEST, message, HTTPStatus.NOT_FOUND)
    return named


def require_mcp_revision(headers: Mapping[str, str]) -> None:
    """Raise RpcError if a request names a revision of the protocol that is not spoken here."""
    named = headers.get(_VERSION_HEADER)
    if named is not None and named not in PROTOCOLS:
        message = f"this server speaks the revisions {', '.join(sorted(PROTOCOLS))}"
        raise RpcError(McpErrorCode.INVALID_REQUEST, message, HTTPStatus.BAD_REQUEST)


def require_mcp_origin(headers: Mapping[str, str]) -> None:
    """Raise RpcError for a request of a web page, except one that this computer itself serves.

    A page from elsewhere may have made its name lead here (DNS rebinding), so an Origin that equals
    the Host proves something for the names of this computer only.
    """
    origin = headers.get("origin")
    if origin is None:
        return
    try:
        asked = urlsplit(origin)
    except ValueError:
        asked = urlsplit("")
    host = headers.get("host", "").lower()
    if asked.hostname not in _LOOPBACK or asked.netloc.lower() != host:
        message = "requests of web pages are not accepted: remove the header Origin"
        raise RpcError(McpErrorCode.INVALID_REQUEST, message, HTTPStatus.FORBIDDEN)


def _signature(random: str, caller: Caller) -> str:
    return hmac.digest(caller.key_hash.encode(), random.encode(), "sha256").hex()
