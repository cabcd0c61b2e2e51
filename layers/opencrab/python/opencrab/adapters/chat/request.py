"""One request to a chat service, over a connection of its own, and its answer as an object.

Rules that every adapter of a chat service may use; it knows none of them. No address appears in an
error: a token may be part of it.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import closing
from time import monotonic
from typing import Any, Protocol

import httpx

from opencrab import __version__
from opencrab.domain.errors import NeverSent, OpenCrabError, Unavailable

USER_AGENT = f"opencrab/{__version__}"
SECONDS = 10.0
"""How long one request may take."""

_NOTHING_LEFT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
    httpx.LocalProtocolError,
    httpx.InvalidURL,
)


class ChatTokens(Protocol):
    """The source of a service's token."""

    def token(self) -> str:
        """Return the token; raises Refused without one, NeverSent if it cannot be read now."""

    def forget(self) -> None:
        """Drop a cached token, so that the next call reads the store again."""


def post_to_chat_service(
    service: str,
    connect: Callable[[], httpx.BaseTransport],
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    *,
    wait: float = 0,
) -> httpx.Response:
    """Send a request once and return its response, whatever its status.

    `connect` creates transports whose timeouts are deadlines in monotonic time; `wait` is for how
    many seconds more the answer may take. Raises NeverSent if nothing was sent, else Unavailable.
    """
    deadline = monotonic() + SECONDS + wait
    patience = {**dict.fromkeys(("connect", "read", "write"), deadline), "pool": SECONDS}
    shared = {"user-agent": USER_AGENT, "accept-encoding": "identity"}
    try:
        request = httpx.Request(
            "POST",
            url,
            headers={**shared, **headers},
            content=body,
            extensions={"timeout": patience},
        )
        with (
            closing(connect()) as transport,
            closing(transport.handle_request(request)) as response,
        ):
            response.read()
            return response
    except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL) as error:
        raise chat_service_unreachable(service, error) from None


def chat_service_unreachable(service: str, error: Exception) -> OpenCrabError:
    """Return NeverSent or Unavailable for an httpx error, of which only the type is named."""
    name = type(error).__name__
    if isinstance(error, _NOTHING_LEFT):
        return NeverSent(f"{service} cannot be reached: {name}")
    return Unavailable(f"{service} did not answer: {name}", cure="try again later")


def object_of_chat_response(response: httpx.Response) -> Mapping[str, Any]:
    """Return the object that a response has as JSON; {} for anything else."""
    try:
        found = json.loads(response.content)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
