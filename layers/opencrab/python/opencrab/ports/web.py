"""The web as an action may see it: pages that an operator allowed, and a search service."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class WebPage:
    """A fetched page as text; `cut` says that there was more."""

    url: str
    title: str
    text: str
    cut: bool = False


@dataclass(frozen=True)
class WebResult:
    """One result of a search on the web."""

    title: str
    url: str
    snippet: str


class Web(Protocol):
    """Fetches pages by https, or http, from allowed hosts only."""

    def prefix(self, url: str) -> str | None:
        """The allowed prefix that an address lies under, None when it lies under none.

        Raises Invalid for what is no address at all.
        """

    def fetch(self, url: str) -> WebPage:
        """A page's text; each redirect is judged like the address itself.

        Raises Refused (not allowed), Invalid, TooLarge, Unavailable.
        """


class SearchEngine(Protocol):
    """A search service that the operator configured."""

    def search(self, query: str, limit: int) -> tuple[WebResult, ...]:
        """Results, best first. Raises Refused, Unavailable."""
