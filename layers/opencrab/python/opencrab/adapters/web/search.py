"""Search services: Brave's API, and any SearXNG that answers in JSON."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlencode

from opencrab.adapters.web.extraction import extract_page
from opencrab.adapters.web.plain import one_visible_page_line
from opencrab.domain.errors import OpenCrabError, Refused, Unavailable
from opencrab.ports.web import WebResult

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
    """What a service answered."""

    @property
    def status(self) -> int:
        """Of HTTP."""

    @property
    def body(self) -> bytes:
        """All of it."""


class SearchTransport(Protocol):
    """Carries one request to a server that the operator chose, without following redirects."""

    def send(self, url: str, *, headers: Mapping[str, str], timeout_seconds: float) -> SearchReply:
        """GET; any failure is an OpenCrabError."""


@dataclass(frozen=True)
class BraveSearch:
    """`ports.web.SearchEngine` over Brave's API, which wants a key; nothing tells that key."""

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
    """`ports.web.SearchEngine` over a SearXNG whose settings allow the format json."""

    carrier: Callable[[], SearchTransport]
    base_url: str

    def search(self, query: str, limit: int) -> tuple[WebResult, ...]:
        url = f"{self.base_url}/search?{urlencode({'q': query, 'format': 'json'})}"
        found = _fetch_results(self.carrier(), url, {"accept": "application/json"}, ("results",))
        return _results(found, "content", limit)


def _fetch_results(
    carrier: SearchTransport, url: str, headers: Mapping[str, str], place: Iterable[str]
) -> list[Any]:
    """The list in this place of the answer; what a service says of an error is told to nobody."""
    try:
        reply = carrier.send(url, headers=headers, timeout_seconds=SECONDS)
    except OpenCrabError:
        raise Unavailable("the search service does not answer") from None
    if reply.status in _NO_ENTRY:
        raise Refused(
            f"the search service rejected the API key (status {reply.status})",
            cure="continue without it, and tell your owner",
        )
    if reply.status != _OK:
        raise Unavailable(f"the search service returned status {reply.status}")
    try:
        found = json.loads(reply.body)
    except (ValueError, RecursionError):
        raise Unavailable("the search service returned a response that is not JSON") from None
    for name in place:
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, list) else []


def _results(
    found: Iterable[Any], snippet: str, limit: int, secret: str = ""
) -> tuple[WebResult, ...]:
    results = (_result(item, snippet, secret) for item in found if isinstance(item, dict))
    return tuple(result for result in results if result is not None)[:limit]


def _result(item: Mapping[str, Any], snippet: str, secret: str) -> WebResult | None:
    url = one_visible_page_line(str(item.get("url") or ""), _LONGEST_URL)
    if not url.lower().startswith(("http://", "https://")):
        return None

    def words(name: str, length: int) -> str:
        _, text, _ = extract_page(str(item.get(name) or "")[: 4 * length], 4 * length)
        return _without(one_visible_page_line(text, length), secret)

    return WebResult(
        title=words("title", _TITLE), url=_without(url, secret), snippet=words(snippet, _SNIPPET)
    )


def _without(text: str, secret: str) -> str:
    return text.replace(secret, "***") if len(secret) >= _SHORTEST_SECRET else text
