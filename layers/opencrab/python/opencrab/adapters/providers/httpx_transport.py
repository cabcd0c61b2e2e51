"""Requests over httpx: which of its errors mean that nothing left, and which that it may have."""

from collections.abc import Mapping
from ipaddress import ip_address
from time import monotonic
from urllib.request import getproxies, proxy_bypass

import httpx

from opencrab.adapters.providers.transport import REPLY_BYTES, Reply, excerpt
from opencrab.domain.errors import Invalid, NeverSent, Unavailable

CONNECT_SECONDS = 10.0

_LIMITS = httpx.Limits(max_connections=100, max_keepalive_connections=20)
_HEADERS = {"user-agent": "opencrab", "accept-encoding": "identity"}

_NOTHING_LEFT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
    httpx.LocalProtocolError,
    httpx.InvalidURL,
)


def new_client() -> httpx.BaseTransport:
    """Connections that are kept; whoever composes shares them and closes them.

    httpx's transport without its client: nothing here needs cookies, redirects or authentication,
    and each request costs a third less CPU. The proxies of the environment are honoured, but never
    for this machine itself, where local models run. Raises Invalid when one cannot be used.
    """
    try:
        return _ByProxy(
            {
                scheme: httpx.HTTPTransport(
                    proxy=proxy if "://" in proxy else f"http://{proxy}", limits=_LIMITS
                )
                for scheme, proxy in getproxies().items()
                if scheme in {"http", "https", "all"}
            }
        )
    except (ImportError, ValueError) as error:
        raise Invalid(
            f"a proxy in the environment cannot be used: {error}",
            cure="correct or unset HTTP_PROXY, HTTPS_PROXY and ALL_PROXY",
        ) from error


class _ByProxy(httpx.BaseTransport):
    """One pool of direct connections, and one for each proxy of the environment."""

    def __init__(self, proxied: Mapping[str, httpx.BaseTransport]) -> None:
        self._direct = httpx.HTTPTransport(limits=_LIMITS)
        self._proxied = proxied

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self._way(request.url).handle_request(request)

    def close(self) -> None:
        for way in (self._direct, *self._proxied.values()):
            way.close()

    def _way(self, url: httpx.URL) -> httpx.BaseTransport:
        if not self._proxied or _is_here(url.host) or proxy_bypass(url.host):
            return self._direct
        return self._proxied.get(url.scheme) or self._proxied.get("all") or self._direct


class HttpxTransport:
    """A Transport over shared httpx connections."""

    def __init__(self, client: httpx.BaseTransport) -> None:
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
        patience = dict.fromkeys(("read", "write", "pool"), timeout_seconds)
        patience["connect"] = min(timeout_seconds, CONNECT_SECONDS)
        try:
            request = httpx.Request(
                "GET" if body is None else "POST",
                url,
                headers={**_HEADERS, **headers},
                content=body,
                extensions={"timeout": patience},
            )
            if not request.url.host:
                raise httpx.UnsupportedProtocol("the address names no host")
            response = self._client.handle_request(request)
            try:
                received = _read(response, deadline)
            finally:
                response.close()
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


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _origin(url: str) -> str:
    """Scheme, host and port: what names a server without quoting a whole address."""
    return "/".join(url.split("/", 3)[:3])


def _told(error: Exception) -> str:
    return str(error) or type(error).__name__
