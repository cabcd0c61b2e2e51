"""Search services: Brave's API, and any SearXNG that answers in JSON."""

import json
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlencode

from opencrab.adapters.web.extraction import extract_page
from opencrab.adapters.web.plain import visible_web_page_line
from opencrab.domain.errors import OpenCrabError, Refused, Unavailable
from opencrab.ports.web import WebResult

log = logging.getLogger(__name__)

BRAVE_URL = "https://api.search.brave.com/res/v1"
SECONDS = 10.0
_MOST = 20
_LONGEST_URL = 2_048
_TITLE = 200
_SNIPPET = 500
_OK = 200
_NO_ENTRY = frozenset({401, 403})
_SHORTEST_SECRET = 6


class SearchReply(Protocol):
    """The HTTP response of a search service."""

    @property
    def status(self) -> int:
        """The HTTP status code."""

    @property
    def body(self) -> bytes:
        """The whole body."""


class SearchTransport(Protocol):
    """An HTTP client for a server chosen by the operator; it does not follow redirects."""

    def send(self, url: str, *, headers: Mapping[str, str], timeout_seconds: float) -> SearchReply:
        """Send a GET; raise an OpenCrabError for any failure."""


@dataclass(frozen=True)
class BraveSearch:
    """`ports.web.SearchEngine` on Brave's API; errors and results never contain its key."""

    carrier: Callable[[], SearchTransport]
    key: str = field(repr=False)
    base_url: str = BRAVE_URL

    def search(self, query: str, limit: int) -> tuple[WebResult, ...]:
        asked = urlencode({"q": query, "count": min(limit, _MOST)})
        url = f"{self.base_url}/web/search?{asked}"
        headers = {"x-subscription-token": self.key, "accept": "application/json"}
        found = _fetch_results(self.carrier(), url, headers, ("web", "results"))
        return _results(found, "description", limit, self.key)


@dataclass(frozen=True)
class SearxngSearch:
    """`ports.web.SearchEngine` on a SearXNG server whose settings allow the format json."""

    carrier: Callable[[], SearchTransport]
    base_url: str

    def search(self, query: str, limit: int) -> tuple[WebResult, ...]:
        url = f"{self.base_url}/search?{urlencode({'q': query, 'format': 'json'})}"
        found = _fetch_results(self.carrier(), url, {"accept": "application/json"}, ("results",))
        return _results(found, "content", limit)


def _fetch_results(
    carrier: SearchTransport, url: str, headers: Mapping[str, str], place: Iterable[str]
) -> list[Any]:
    """Return the list at `place` in the response; errors do not quote the service."""
    try:
        reply = carrier.send(url, headers=headers, timeout_seconds=SECONDS)
    except OpenCrabError as error:
        # The model reads the error that follows, the operator why there was none.
        log.warning("web search failed: error=%s", error.message)
        raise Unavailable(
            "no response from the search service", cure="try again, or check web.search.base_url"
        ) from None
    if reply.status in _NO_ENTRY:
        raise Refused(
            f"the search service rejected the API key (status {reply.status})",
            cure="continue without it, and tell your owner",
        )
    if reply.status != _OK:
        raise Unavailable(
            f"the search service returned status {reply.status}",
            cure="try again later, or check web.search.base_url",
        )
    try:
        found = json.loads(reply.body)
    except (ValueError, RecursionError):
        raise Unavailable(
            "the search service returned a response that is not JSON",
            cure="check web.search.base_url; SearXNG needs json in search.formats",
        ) from None
    for name in place:
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, list) else []


def _results(
    found: Iterable[Any], snippet: str, limit: int, secret: str = ""
) -> tuple[WebResult, ...]:
    results = (_result(item, snippet, secret) for item in found if isinstance(item, dict))
    return tuple(result for result in results if result is not None)[:limit]


def _result(item: Mapping[str, Any], snippet: str, secret: str) -> WebResult | None:
    url = visible_web_page_line(str(item.get("url") or ""), _LONGEST_URL)
    if not url.lower().startswith(("http://", "https://")):
        return None

    def words(name: str, length: int) -> str:
        _, text, _ = extract_page(str(item.get(name) or "")[: 4 * length], 4 * length)
        return _without(visible_web_page_line(text, length), secret)

    return WebResult(
        title=words("title", _TITLE), url=_without(url, secret), snippet=words(snippet, _SNIPPET)
    )


def _without(text: str, secret: str) -> str:
    return text.replace(secret, "***") if len(secret) >= _SHORTEST_SECRET else text
