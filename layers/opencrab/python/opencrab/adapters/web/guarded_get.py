"""One request to the public internet: to the numbers that were judged, in time, in our words."""

import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property

import httpcore

from opencrab.adapters.web.address import Address
from opencrab.adapters.web.connection import Clock, PinnedBackend, Resolve
from opencrab.domain.errors import Invalid, Unavailable

MOVED = frozenset({301, 302, 303, 307, 308})
_OK = 200
_TOO_MANY = 429
_SERVER_ERROR = 500

Headers = Sequence[tuple[str, str]]


class GuardedGet:
    """GET, or one POST, without cookies and referrer, over a new connection each time.

    Errors never quote what a server says, since error texts do not count as external words.

    Args:
        connector: Connects to numeric addresses; its timeouts are deadlines.
        resolve: Resolves a host name.
        clock: Monotonic seconds, the same clock as the connector's.
        new_tls: Creates the TLS context that verifies servers.
        what: What is fetched, as errors name it.
        allowance: The time for it, as errors name it.
    """

    def __init__(
        self,
        connector: httpcore.NetworkBackend,
        resolve: Resolve,
        clock: Clock,
        new_tls: Callable[[], ssl.SSLContext],
        *,
        what: str,
        allowance: str,
    ) -> None:
        self._what = what
        self._allowance = allowance
        self._backend = PinnedBackend(connector, resolve, clock)
        self._clock = clock
        self._new_tls = new_tls

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return self._new_tls()

    @contextmanager
    def opened(
        self, address: Address, headers: Headers, deadline: float, *, post: bytes | None = None
    ) -> Iterator[httpcore.Response]:
        """Send the request, a POST if it has a body; give the response, whose body is not read."""
        url = httpcore.URL(
            scheme=address.scheme.encode(),
            host=address.host.encode(),
            port=None,
            target=(address.path + address.query).encode(),
        )
        patience = dict.fromkeys(("connect", "read", "write"), deadline)
        with (
            self._explained(),
            httpcore.HTTPConnection(
                origin=url.origin, ssl_context=self._tls, network_backend=self._backend
            ) as connection,
            connection.stream(
                "GET" if post is None else "POST",
                url,
                headers=[*headers],
                content=post,
                extensions={"timeout": patience},
            ) as response,
        ):
            yield response

    def pieces(self, response: httpcore.Response, deadline: float) -> Iterator[bytes]:
        """Yield the body as it arrives, until the deadline."""
        for chunk in response.iter_stream():
            self.check_time(deadline)
            yield chunk

    def check_time(self, deadline: float) -> None:
        """Raise httpcore's timeout after the deadline; `opened` translates it."""
        if self._clock() >= deadline:
            raise httpcore.ReadTimeout

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Translate httpcore's errors, without text from the server."""
        cure = f"try again later, or use another {self._what}"
        try:
            yield
        except httpcore.TimeoutException:
            raise Unavailable(
                f"the {self._what} did not load {self._allowance}", cure=cure
            ) from None
        except (httpcore.ConnectError, httpcore.UnsupportedProtocol):
            raise Unavailable(
                f"no TLS connection to the {self._what}'s server", cure=cure
            ) from None
        except (httpcore.NetworkError, httpcore.ProtocolError):
            raise Unavailable(
                f"the {self._what}'s server closed the connection", cure=cure
            ) from None


def web_response_headers(response: httpcore.Response) -> dict[str, str]:
    """Return a response's headers, by their names in lower case."""
    return {
        name.decode("latin-1").lower(): value.decode("utf-8", "replace")
        for name, value in response.headers
    }


def require_web_status_200(what: str, status: int) -> None:
    """Raise Unavailable for a server that may answer later, else Invalid, unless it is 200."""
    if status == _OK:
        return
    told = f"the {what}'s server returned status {status}"
    if status == _TOO_MANY or status >= _SERVER_ERROR:
        raise Unavailable(told, cure=f"try again later, or use another {what}")
    raise Invalid(told, cure="use another address")
