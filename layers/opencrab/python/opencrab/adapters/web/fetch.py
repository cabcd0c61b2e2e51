"""Fetching a page: every hop is judged by name and by number, and bounded in size and time."""

import ssl
from collections.abc import Callable, Mapping
from time import monotonic

import httpcore
import httpx

from opencrab.adapters.web.address import Address, AllowList
from opencrab.adapters.web.body import web_response_body
from opencrab.adapters.web.charset import decode_web_page
from opencrab.adapters.web.connection import Clock, Resolve, resolve_web_host
from opencrab.adapters.web.extraction import extract_page
from opencrab.adapters.web.guarded_get import (
    MOVED,
    GuardedGet,
    require_web_status_200,
    web_response_headers,
)
from opencrab.adapters.web.plain import (
    clip_web_page_text,
    strip_invisible_page_text,
    visible_web_page_line,
)
from opencrab.domain.errors import Invalid, Refused
from opencrab.ports.web import WebPage

SECONDS = 20.0
HOPS = 5
TEXT_BYTES = 20 * 1024
_READ = 4 * TEXT_BYTES
"""Characters that are looked at, many of which may be invisible."""

_TITLE = 200
_ACCEPTED = "text/html,text/plain,text/markdown,application/json,application/xml;q=0.9"
_HEADERS = [("user-agent", "opencrab"), ("accept", _ACCEPTED), ("accept-encoding", "gzip")]
_HTML = frozenset({"text/html", "application/xhtml+xml"})
_PLAIN = frozenset(
    {"text/plain", "text/markdown", "application/json", "application/xml", "text/xml"}
)


class HttpPages:
    """`ports.web.Web`: GET without cookies, keys and referrer, over a new connection each time.

    Errors never quote what a server says, since error texts do not count as external words.

    Args:
        allowed: The URLs that may be fetched.
        connector: Connects to numeric addresses; its timeouts are deadlines.
        resolve: Resolves a host name.
        clock: Monotonic seconds, the same clock as the connector's.
        new_tls: Creates the TLS context that verifies servers.
    """

    def __init__(
        self,
        allowed: AllowList,
        connector: httpcore.NetworkBackend,
        resolve: Resolve = resolve_web_host,
        clock: Clock = monotonic,
        new_tls: Callable[[], ssl.SSLContext] = httpx.create_ssl_context,
    ) -> None:
        self._allowed = allowed
        self._clock = clock
        self._get = GuardedGet(
            connector, resolve, clock, new_tls, what="page", allowance=f"within {SECONDS:g} s"
        )

    def prefix(self, url: str) -> str | None:
        return self._allowed.prefix(Address.of(url))

    def fetch(self, url: str) -> WebPage:
        address, deadline = Address.of(url), self._clock() + SECONDS
        if self._allowed.prefix(address) is None:
            raise Refused(
                "this address is not allowed", cure=f"allowed are addresses below {self._allowed}"
            )
        for _ in range(HOPS + 1):
            answer = self._answer(address, deadline)
            if isinstance(answer, WebPage):
                return answer
            address = answer
        raise Refused(f"the page redirects more than {HOPS} times", cure="use another address")

    def _answer(self, address: Address, deadline: float) -> WebPage | Address:
        """Return the page, or the address that it redirects to."""
        with self._get.opened(address, _HEADERS, deadline) as response:
            headers = web_response_headers(response)
            if response.status in MOVED:
                return self._moved(address, headers.get("location", ""))
            require_web_status_200("page", response.status)
            kind = _kind(headers)
            chunks = self._get.pieces(response, deadline)
            body = web_response_body(chunks, headers.get("content-encoding", "").strip().lower())
            return self._page(
                address, kind, decode_web_page(body, headers["content-type"]), deadline
            )

    def _moved(self, address: Address, location: str) -> Address:
        try:
            target = address.resolve(location)
        except Invalid:
            target = None
        if target is None or self._allowed.prefix(target) is None:
            raise Refused(
                "the page redirects to an address that is not allowed",
                cure="use another page, or ask your owner to allow the target",
            )
        return target

    def _page(self, address: Address, kind: str, text: str, deadline: float) -> WebPage:
        title, more = "", False
        if kind in _HTML:
            title, text, more = extract_page(text, _READ, lambda: self._get.check_time(deadline))
        shown, cut = clip_web_page_text(strip_invisible_page_text(text[:_READ]), TEXT_BYTES)
        return WebPage(
            url=address.url,
            title=visible_web_page_line(title, _TITLE),
            text=shown,
            cut=cut or more or len(text) > _READ,
        )


def _kind(headers: Mapping[str, str]) -> str:
    """Return the media type; raise Invalid unless it is a text format."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    is_xml = kind.startswith("application/") and kind.endswith("+xml")
    if kind not in _HTML | _PLAIN and not is_xml:
        raise Invalid(
            "the page is not text: only HTML, plain text, Markdown, JSON and XML are read",
            cure="use another address",
        )
    return kind
