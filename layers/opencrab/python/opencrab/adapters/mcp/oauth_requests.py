"""Requests to authorization servers: to addresses that are safe, small answers, no redirects.

No header of the settings is sent there, and no word of an answer gets into an error.
"""

import json
import ssl
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import httpcore
import httpx

from opencrab.adapters.address import is_private_url_address, is_url_of_this_machine
from opencrab.adapters.mcp.exchange import (
    UNSIGNED,
    Header,
    McpHttpExchange,
    headers_of_mcp_response,
)
from opencrab.adapters.mcp.messages import mcp_handshake, mcp_message, parse_mcp_message
from opencrab.domain.errors import Refused
from opencrab.domain.mcp.server import McpServer
from opencrab.domain.mcp.sign_in import (
    McpChallenge,
    origin_of_mcp_url,
    parse_mcp_challenge,
    split_mcp_url,
)
from opencrab.ports.mcp import McpUnavailable

ANSWER_BYTES = 256 * 1024
"""The largest answer of an authorization server that is read."""

_FORM = (b"content-type", b"application/x-www-form-urlencoded")
_JSON = (b"content-type", b"application/json")
_TAKES = (b"accept", b"application/json")
_NOT_PUBLIC = "it is not on the public internet"
_OK, _MOVED, _MISSING, _BROKEN = 200, 300, 400, 500


class OAuthRequests:
    """Requests on behalf of one MCP server.

    Args:
        server: The server; its own host may be private, as its owner wrote it.
        own: Connects to hosts that the owner wrote.
        public: Connects to all others, at public addresses only.
        new_tls: Creates the TLS context that verifies them.
    """

    def __init__(
        self,
        server: McpServer,
        own: httpcore.NetworkBackend,
        public: httpcore.NetworkBackend,
        new_tls: Callable[[], ssl.SSLContext] = httpx.create_ssl_context,
    ) -> None:
        self._server = server
        self._backends = {True: own, False: public}
        self._new_tls = new_tls
        self.whom = f"the authorization server of the MCP server {server.name}"

    def require_safe_address(self, url: str, what: str) -> str:
        """Return a URL; raises Refused unless it is public https, or local as the server is.

        Plain http is for this machine only, if the server itself is there.
        """
        parts = split_mcp_url(url)
        if parts is None:
            raise self.refusal(f"its {what} is not a usable address")
        if parts.scheme != "https" and not self._both_here(url):
            raise self.refusal(f"its {what} does not use https")
        if is_private_url_address(url) and not self.is_of_owner(url):
            raise self.refusal(_NOT_PUBLIC)
        return url

    def is_of_owner(self, url: str) -> bool:
        """Check whether the owner wrote a host, or server and host are both this machine."""
        origin = origin_of_mcp_url(url)
        wrote = (self._server.url, self._server.oauth.issuer)
        return origin in map(origin_of_mcp_url, filter(None, wrote)) or self._both_here(url)

    def get_json(self, url: str, deadline: float) -> Mapping[str, Any] | None:
        """Return the object at a URL; None if there is none. Raises Refused and McpUnavailable."""
        status, found = self._send("GET", url, (_TAKES,), b"", deadline)
        if status >= _BROKEN:
            raise self._exchange(url).failure(f"it answered with status {status}", sent=False)
        return found if status == _OK else None

    def post_form(
        self, url: str, fields: Mapping[str, str], headers: Sequence[Header], deadline: float
    ) -> tuple[int, Mapping[str, Any]]:
        """Post a form and return the status with the object of the answer, empty if it is none."""
        body = urlencode(fields).encode()
        status, found = self._send("POST", url, (_FORM, _TAKES, *headers), body, deadline)
        return status, found or {}

    def post_json(
        self, url: str, said: Mapping[str, Any], deadline: float
    ) -> tuple[int, Mapping[str, Any]]:
        """Post an object and return the status with the object of the answer, as `post_form`."""
        body = json.dumps(said).encode()
        status, found = self._send("POST", url, (_JSON, _TAKES), body, deadline)
        return status, found or {}

    def refusal(self, why: str, cure: str = "") -> Refused:
        """Return the error of an authorization server that is not used."""
        name = self._server.name
        usual = f"ask who runs it; nothing is sent there, and a token in mcp.servers.{name}.headers"
        return Refused(
            f"{self.whom} cannot be used: {why}", cure=cure or f"{usual} works without signing in"
        )

    def _send(
        self, method: str, url: str, headers: Sequence[Header], body: bytes, deadline: float
    ) -> tuple[int, Mapping[str, Any] | None]:
        exchange = self._exchange(url)
        try:
            with exchange.send(method, url, headers, body, deadline) as response:
                status = response.status
                whole = b"".join(exchange.pieces(response, deadline))
        except Refused:
            # The guard of addresses names the host, which is a word of the server's.
            raise self.refusal(_NOT_PUBLIC) from None
        except McpUnavailable as error:
            # Whatever arrived here, it was no request to the server itself.
            raise McpUnavailable(error.message, cure=error.cure) from None
        finally:
            exchange.close()
        if _MOVED <= status < _MISSING:
            raise self.refusal("it redirects to another address")
        return status, parse_mcp_message(whole)

    def _exchange(self, url: str) -> McpHttpExchange:
        """Return an exchange without the server's headers: they are for the server alone."""
        return McpHttpExchange(
            self._server.replaced(headers={}, url=url),
            self._backends[self.is_of_owner(url)],
            self._new_tls,
            whom=self.whom,
            most_bytes=ANSWER_BYTES,
        )

    def _both_here(self, url: str) -> bool:
        return is_url_of_this_machine(self._server.url) and is_url_of_this_machine(url)


def probe_mcp_server(
    server: McpServer,
    own: httpcore.NetworkBackend,
    deadline: float,
    new_tls: Callable[[], ssl.SSLContext] = httpx.create_ssl_context,
) -> McpChallenge:
    """Ask a server without a token and return its challenge; an empty one if it has none.

    Raises McpUnavailable, and Refused for a host that is not used.
    """
    exchange = McpHttpExchange(server, own, new_tls, most_bytes=ANSWER_BYTES)
    body = mcp_message("initialize", mcp_handshake(), 1)
    takes = (b"accept", b"application/json, text/event-stream")
    try:
        with exchange.send("POST", server.url, (_JSON, takes), body, deadline) as response:
            if response.status != UNSIGNED:
                return McpChallenge()
            return parse_mcp_challenge(headers_of_mcp_response(response, b"www-authenticate"))
    finally:
        exchange.close()
