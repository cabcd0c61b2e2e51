"""Web access from the settings: pages below allowed prefixes, and one search service."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from opencrab.domain.errors import Invalid

if TYPE_CHECKING:
    from opencrab.adapters.web.search import SearchTransport
    from opencrab.ports.web import SearchEngine, Web
    from opencrab.settings import Settings

_BRAVE, _SEARXNG = "brave", "searxng"


def configured_web_access(
    configured: "Settings", carrier: "Callable[[], SearchTransport]"
) -> "tuple[Web | None, SearchEngine | None, frozenset[str]]":
    """Return web access, the search service, and the names of actions that lack either.

    `carrier` is called at the first search. Raises Invalid for settings that cannot be used.
    """
    web, search = _pages(configured), _search(configured, carrier)
    reached = {"web_fetch": web, "web_search": search}
    return web, search, frozenset(name for name, what in reached.items() if what is None)


def _pages(configured: "Settings") -> "Web | None":
    allowed = [str(prefix) for prefix in configured.get("web.allow")]
    if not allowed:
        return None
    from opencrab.adapters.providers.transport.http_connections import TimedBackend
    from opencrab.adapters.web.address import AllowList
    from opencrab.adapters.web.fetch import HttpPages

    return HttpPages(AllowList(allowed), TimedBackend())


def _search(
    configured: "Settings", carrier: "Callable[[], SearchTransport]"
) -> "SearchEngine | None":
    kind = str(configured.get("web.search.kind"))
    key = str(configured.get("web.search.api_key"))
    if kind not in {_BRAVE, _SEARXNG}:
        raise Invalid(
            f"web.search.kind must be {_BRAVE} or {_SEARXNG}, not {kind!r}",
            field="web.search.kind",
            cure="correct it; docs/how-to/let-agents-read-web-pages.md says what each needs",
        )
    if kind == _BRAVE and not key:
        return None
    from opencrab.adapters.address import BaseUrlRules
    from opencrab.adapters.web.search import BRAVE_URL, BraveSearch, SearxngSearch

    url = str(configured.get("web.search.base_url")) or (BRAVE_URL if kind == _BRAVE else "")
    base_url = BaseUrlRules("the web search", "web.search.base_url").validate(url)
    if kind == _BRAVE:
        return BraveSearch(carrier, key, base_url)
    return SearxngSearch(carrier, base_url)
