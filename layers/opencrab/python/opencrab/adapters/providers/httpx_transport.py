"""Requests over httpx: which of its errors mean that nothing left, and which that it may have."""

from collections.abc import Mapping
from time import monotonic

import httpx

from opencrab.adapters.providers.transport import REPLY_BYTES, Reply, excerpt
from opencrab.domain.errors import Invalid, NeverSent, Unavailable

CONNECT_SECONDS = 10.0

_NOTHING_LEFT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
    httpx.LocalProtocolError,
    httpx.InvalidURL,
)


def new_client() -> httpx.Client:
    """A client that keeps its connections; whoever composes shares one and closes it.

    It honours the proxies of the environment, but never for this machine itself, where local
    models run. Raises Invalid when a proxy of the environment cannot be used.
    """
    direct = dict.fromkeys(("all://localhost", "all://127.0.0.1", "all://[::1]"))
    try:
        return httpx.Client(
            follow_redirects=False,
            mounts=direct,
            headers={"user-agent": "opencrab", "accept-encoding": "identity"},
            limits=httpx.Limits(max_connections=100, max_keepalive_connections=20),
        )
    except (ImportError, ValueError) as error:
        raise Invalid(
            f"a proxy in the environment cannot be used: {error}",
            cure="correct or unset HTTP_PROXY, HTTPS_PROXY and ALL_PROXY",
        ) from error


class HttpxTransport:
    """A Transport over a shared httpx client."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def send(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
        timeout_seconds: float,
    ) -> Reply:
        deadline = monotonic() + timeout_seconds
        timeout = httpx.Timeout(timeout_seconds, connect=min(timeout_seconds, CONNECT_SECONDS))
        method = "GET" if body is None else "POST"
        try:
            with self._client.stream(
                method, url, headers=dict(headers), content=body, timeout=timeout
            ) as response:
                received = _read(response, deadline)
        except _NOTHING_LEFT as error:
            raise NeverSent(f"no connection to {_origin(url)}: {_told(error)}") from None
        except httpx.TimeoutException:
            raise Unavailable(
                f"{_origin(url)} did not answer within {timeout_seconds:g} s"
            ) from None
        except httpx.HTTPError as error:
            raise Unavailable(f"{_origin(url)} broke off: {_told(error)}") from None
        return Reply(response.status_code, received, dict(response.headers))


def _read(response: httpx.Response, deadline: float) -> bytes:
    """The whole body, if it is small enough and arrives in time."""
    received = bytearray()
    for chunk in response.iter_bytes():
        received += chunk
        if len(received) > REPLY_BYTES:
            beginning = excerpt(bytes(received))
            raise Unavailable(f"the answer is larger than {REPLY_BYTES} bytes: {beginning!r}")
        if monotonic() > deadline:
            raise httpx.ReadTimeout("the answer came too slowly")
    return bytes(received)


def _origin(url: str) -> str:
    """Scheme, host and port: what names a server without quoting a whole address."""
    return "/".join(url.split("/", 3)[:3])


def _told(error: Exception) -> str:
    return str(error) or type(error).__name__
