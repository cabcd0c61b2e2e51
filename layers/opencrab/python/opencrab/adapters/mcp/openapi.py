"""An HTTP API by its OpenAPI description, as if it were an MCP server: its operations are tools.

The description is read once for each connection, and on a new one when a server is asked for its
tools again: what was verified is what is called. It decides paths and arguments, never the host:
that is the settings' or its own.
"""

import json
import ssl
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpcore
import httpx

from opencrab.adapters.mcp.exchange import (
    MESSAGE_BYTES,
    McpHttpExchange,
    header_of_mcp_response,
)
from opencrab.adapters.mcp.messages import parse_mcp_message
from opencrab.adapters.mcp.running_call import RunningCall
from opencrab.domain.errors import Invalid, Refused
from opencrab.domain.mcp.openapi import (
    HttpOperation,
    http_api_address,
    read_http_operations,
)
from opencrab.domain.mcp.protocol import PROTOCOL
from opencrab.domain.mcp.server import McpServer
from opencrab.domain.mcp.tool import MOST_TOOLS
from opencrab.ports.mcp import McpSessionEnded

_CLIENT_ERROR, _SERVER_ERROR = 400, 500
_DONE_ELSEWHERE = frozenset({301, 302, 303})
_PORTS = {"http": 80, "https": 443}
_TEXTS = ("text/", "application/json", "application/xml", "application/problem+json")


class OpenApiConnection:
    """The API of a server whose settings name a description: an address, or a file here.

    Args:
        server: The server; its headers go to the API, and to the description only if that is of
            the same origin.
        backend: Connects to their hosts; its timeouts are deadlines.
        new_tls: Creates the TLS context that verifies them.
    """

    def __init__(
        self,
        server: McpServer,
        backend: httpcore.NetworkBackend,
        new_tls: Callable[[], ssl.SSLContext] = httpx.create_ssl_context,
    ) -> None:
        self.tools_changed = False
        self.is_open = True
        self._server = server
        self._exchange = McpHttpExchange(server, backend, new_tls)
        unsigned = server.replaced(headers={})
        same = not server.url or _origin(server.url) == _origin(server.openapi)
        self._reading = self._exchange if same else McpHttpExchange(unsigned, backend, new_tls)
        self._operations: Mapping[str, HttpOperation] | None = None
        self._base = server.url

    def request(
        self,
        method: str,
        params: Mapping[str, Any],
        deadline: float,
        running: RunningCall | None = None,  # noqa: ARG002 - nobody tells its progress here
    ) -> dict[str, Any]:
        """Return the result of a request. Raises McpUnavailable, at the deadline at the latest."""
        if method == "initialize":
            return {"protocolVersion": PROTOCOL}
        if method == "tools/list":
            return {"tools": self._listed(deadline)}
        operation = (self._operations or {}).get(str(params.get("name")))
        if operation is None:
            return _error_result("the API has no such operation")
        try:
            target = operation.target(params.get("arguments", {}))
        except Invalid as error:
            return _error_result(error.message)
        return self._call(operation, target, params.get("arguments", {}), deadline)

    def _listed(self, deadline: float) -> list[dict[str, Any]]:
        if self._operations is not None:
            # A call of another thread may be on its way, with an operation that was verified here.
            self.is_open = False
            raise McpSessionEnded(f"the description of the API {self._server.name} is read again")
        base, operations = self._read(deadline)
        self._base, self._operations = base, operations
        # The address is part of what is trusted.
        return [{**each.listed, "address": base} for each in operations.values()]

    def notify(self, method: str, deadline: float) -> None:
        """Do nothing: an API is told nothing."""

    def close(self) -> None:
        """Close what is open."""
        self.is_open = False
        self._exchange.close()
        self._reading.close()

    def _call(
        self,
        operation: HttpOperation,
        target: str,
        arguments: Mapping[str, Any],
        deadline: float,
    ) -> dict[str, Any]:
        body, url = operation.content(arguments), f"{self._base.rstrip('/')}{target}"
        headers = [(b"accept", b"application/json, text/*;q=0.9, */*;q=0.1")]
        if body:
            headers.append((b"content-type", operation.media_type.encode()))
        with self._exchange.send(operation.method, url, headers, body, deadline) as response:
            self._require_known_outcome(operation, response.status)
            kind = header_of_mcp_response(response, b"content-type").decode("latin-1")
            content = b"".join(self._exchange.pieces(response, deadline))
            status = response.status
        kind = kind.partition(";")[0].strip().lower()
        if content and not (kind.startswith(_TEXTS) or kind.endswith("+json")):
            text = f"[{kind[:60] or 'no content type'}, {len(content):,} bytes: left out]"
        else:
            text = content.decode("utf-8-sig", "replace")
        if status >= _CLIENT_ERROR:
            return _error_result(f"status {status}: {text}")
        found: dict[str, Any] = {"content": [{"type": "text", "text": text or f"status {status}"}]}
        data = parse_mcp_message(content) if "json" in kind else None
        return found if data is None else {**found, "structuredContent": dict(data)}

    def _require_known_outcome(self, operation: HttpOperation, status: int) -> None:
        """Raise what a status means that brings no answer.

        A request that changes something may have done so before its server failed, and redirects
        from what was done to where it can be read are usual.
        """
        is_unclear = status >= _SERVER_ERROR or status in _DONE_ELSEWHERE
        if is_unclear and not operation.is_safe:
            raise self._exchange.failure(f"it answered with status {status}", sent=True)
        self._exchange.require_no_refusal(status)

    def _read(self, deadline: float) -> tuple[str, Mapping[str, HttpOperation]]:
        server = self._server
        try:
            document = json.loads(self._description(deadline))
            operations = read_http_operations(
                document, server.headers, wanted=frozenset(server.operations), most=MOST_TOOLS
            )
        except Invalid as error:
            raise self._exchange.failure(error.message, sent=False) from None
        except (ValueError, RecursionError):
            raise self._exchange.failure("its description is no JSON", sent=False) from None
        base = server.url or self._own_address(document)
        if "?" in base or "#" in base:
            raise self._exchange.failure("the API's address has more than a path", sent=False)
        return base, {each.name: each for each in operations}

    def _description(self, deadline: float) -> bytes:
        address = self._server.openapi
        if not _origin(address):
            return self._file(Path(address).expanduser())
        headers = [(b"accept", b"application/json")]
        with self._reading.send("GET", address, headers, b"", deadline) as response:
            self._reading.require_success(response.status)
            return b"".join(self._reading.pieces(response, deadline))

    def _file(self, path: Path) -> bytes:
        try:
            with path.open("rb") as opened:
                content = opened.read(MESSAGE_BYTES + 1)
        except OSError as error:
            why = f"its description cannot be read: {error.strerror}"
            raise self._exchange.failure(why, sent=False) from None
        if len(content) > MESSAGE_BYTES:
            raise self._exchange.failure("its description is too large", sent=False)
        return content

    def _own_address(self, document: Mapping[str, Any]) -> str:
        """Return the API's address as it describes itself, if that is where the description is."""
        try:
            found = urljoin(self._server.openapi, http_api_address(document))
        except ValueError:
            found = ""
        if _origin(found) != _origin(self._server.openapi):
            raise Refused(
                f"the API {self._server.name} says that it is at another host than its description",
                cure=f"write its address to mcp.servers.{self._server.name}.url if you trust it",
            )
        return found


def _error_result(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": True}


def _origin(url: str) -> tuple[str, str, int] | None:
    """Return scheme, host and port of an address; None for a file's path."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in {"http", "https"}:
        return None
    return parts.scheme, (parts.hostname or "").lower(), port or _PORTS[parts.scheme]
