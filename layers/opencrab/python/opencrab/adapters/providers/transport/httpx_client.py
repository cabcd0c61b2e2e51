"""The process's connections as a transport of httpx, for clients that speak it."""

import httpx

from opencrab.adapters.providers.transport.http_connections import HttpConnections, tls_context


class _HttpxOverConnections(httpx.HTTPTransport):
    """httpx's own transport, whose pool enforces each request's deadline."""

    def __init__(self, connections: HttpConnections) -> None:
        super().__init__(verify=tls_context())
        self._pool = connections  # type: ignore[assignment]


def new_client() -> httpx.BaseTransport:
    """Create a pooled transport; the caller shares and closes it.

    httpx's client is not used: cookies, redirects and authentication are not needed. Raises Invalid
    if a proxy of the environment cannot be used.
    """
    return _HttpxOverConnections(HttpConnections())
