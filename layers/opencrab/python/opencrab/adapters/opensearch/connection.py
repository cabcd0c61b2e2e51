"""The connection to a collection: signed requests, tried again where that can help.

Which operations there are, and what they answer, is in `client.py`.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx

from opencrab.adapters.address import BaseUrlRules
from opencrab.adapters.opensearch.signing import SignerNow, sign_opensearch_request
from opencrab.domain.errors import Invalid, Unavailable
from opencrab.ports.clock import Clock

ATTEMPTS = 5
SECONDS = 10.0
"""For each attempt; a collection that was idle takes some."""

LONGEST_PAUSE_SECONDS = 8.0
_FIRST_PAUSE_SECONDS = 0.2
_FORBIDDEN = frozenset({401, 403})
_PASSING = frozenset({429, 500, 502, 503, 504})
_TOLD = 300
_HOST = re.compile(r"[a-z0-9-]+\.(?P<region>[a-z0-9-]+)\.aoss\.[a-z0-9.-]+")

Pause = Callable[[float], None]
"""Waits for so many seconds."""

Chance = Callable[[], float]
"""A number from 0 to 1, so that those who were turned away together do not come back together."""


def new_opensearch_transport() -> httpx.BaseTransport:
    """Create a pooled httpx transport; the features of httpx's client are not needed."""
    return httpx.HTTPTransport(limits=httpx.Limits(max_connections=20, keepalive_expiry=60.0))


@dataclass(frozen=True)
class OpenSearchReply:
    """Status code and JSON body of a response; the body is empty if it is no object."""

    status: int
    body: dict[str, Any]

    @property
    def error_type(self) -> str:
        """The server's error type, such as `index_not_found_exception`; empty without one."""
        error = self.body.get("error")
        return str(error.get("type", "")) if isinstance(error, dict) else ""

    @property
    def reason(self) -> str:
        """The server's error reason, cut to 300 characters."""
        error = self.body.get("error")
        told = error.get("reason", "") if isinstance(error, dict) else error or ""
        return str(told)[:_TOLD]

    @property
    def is_passing(self) -> bool:
        """True if the status code is transient, so that the request may be retried."""
        return self.status in _PASSING


class OpenSearchBackoff:
    """Exponential backoff with jitter: doubles from 0.2 s to at most 8 s, minus up to half."""

    def __init__(self, pause: Pause, chance: Chance) -> None:
        self._pause = pause
        self._chance = chance

    def before(self, attempt: int) -> None:
        """Sleep before an attempt; attempt 0 starts at once."""
        if attempt:
            longest = min(_FIRST_PAUSE_SECONDS * 2 ** (attempt - 1), LONGEST_PAUSE_SECONDS)
            self._pause(longest * (0.5 + 0.5 * self._chance()))


class OpenSearchConnection:
    """Signed requests to one collection, with retries."""

    def __init__(
        self,
        endpoint: str,
        transport: httpx.BaseTransport,
        signer: SignerNow,
        clock: Clock,
        backoff: OpenSearchBackoff,
    ) -> None:
        self._endpoint = checked_opensearch_endpoint(endpoint)
        self._region = opensearch_region(self._endpoint)
        self._transport = transport
        self._signer = signer
        self._clock = clock
        self.backoff = backoff

    def ask(
        self, method: str, path: str, content: bytes = b"", kind: str = "json"
    ) -> OpenSearchReply:
        """Send a request, retry transient failures, and return the response, whatever its status.

        Raises Unavailable if all attempts fail, or if the role is not allowed (HTTP 401 or 403).
        """
        fault = ""
        for attempt in range(ATTEMPTS):
            self.backoff.before(attempt)
            try:
                reply = self._once(method, path, content, kind)
            except httpx.TransportError as error:
                fault = type(error).__name__
                continue
            if reply.status in _FORBIDDEN:
                raise _forbidden(reply)
            if not reply.is_passing:
                return reply
            fault = f"HTTP {reply.status} {reply.error_type}".strip()
        raise Unavailable(f"the search collection is unavailable: {fault}", cure="try again later")

    def _once(self, method: str, path: str, content: bytes, kind: str) -> OpenSearchReply:
        patience = dict.fromkeys(("connect", "read", "write", "pool"), SECONDS)
        request = httpx.Request(
            method,
            f"{self._endpoint}{path}",
            headers={
                "user-agent": "opencrab",
                "accept-encoding": "identity",
                **({"content-type": f"application/{kind}"} if content else {}),
            },
            content=content,
            extensions={"timeout": patience},
        )
        signer = self._signer(self._region)
        request.headers.update(sign_opensearch_request(request, content, signer, self._clock.now()))
        response = self._transport.handle_request(request)
        try:
            return OpenSearchReply(response.status_code, _object(response.read()))
        finally:
            response.close()


def checked_opensearch_endpoint(endpoint: str) -> str:
    """Return a collection's URL without a trailing slash; raise Invalid if it is unsafe."""
    url = BaseUrlRules("the search collection", "search.opensearch_endpoint").validate(endpoint)
    if not url.startswith("https://") or urlsplit(url).path:
        raise Invalid(
            f"{url!r} is not the endpoint of an OpenSearch Serverless collection",
            field="search.opensearch_endpoint",
            cure="use the collection's endpoint, as in https://ID.REGION.aoss.amazonaws.com",
        )
    return url


def opensearch_region(endpoint: str) -> str:
    """Return the AWS region in a collection's host name; raise Invalid without one."""
    found = _HOST.fullmatch(urlsplit(endpoint).hostname or "")
    if found is None:
        raise Invalid(
            f"{endpoint!r} contains no region",
            field="search.opensearch_endpoint",
            cure="use the collection's endpoint, as in https://ID.REGION.aoss.amazonaws.com",
        )
    return found["region"]


def _object(content: bytes) -> dict[str, Any]:
    try:
        body = json.loads(content or b"{}")
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def _forbidden(reply: OpenSearchReply) -> Unavailable:
    return Unavailable(
        f"the search collection denied this role: HTTP {reply.status}",
        cure="allow the role aoss:APIAccessAll, and add it to the collection's data access policy",
    )
