"""The web as an action may see it: pages that an operator allowed, and a search service."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class WebPage:
    """A fetched page as text; `cut` if the text was shortened."""

    url: str
    title: str
    text: str
    cut: bool = False


@dataclass(frozen=True)
class WebResult:
    """One result of a web search."""

    title: str
    url: str
    snippet: str


class Web(Protocol):
    """Access to pages by https, or http, on allowed hosts only."""

    def prefix(self, url: str) -> str | None:
        """Return the allowed prefix that a URL starts with, or None.

        Raises Invalid for a text that is no URL.
        """

    def fetch(self, url: str) -> WebPage:
        """Return a page's text; each redirect is checked like the URL itself.

        Raises Refused (not allowed), Invalid, TooLarge, Unavailable.
        """


class SearchEngine(Protocol):
    """A web search service that the operator configured."""

    def search(self, query: str, limit: int) -> tuple[WebResult, ...]:
        """Return results, best first. Raises Refused, Unavailable."""


class SignedPost(Protocol):
    """Posts to addresses of others, signed as Standard Webhooks says."""

    def post(self, url: str, secrets: Sequence[str], event_id: str, body: bytes) -> None:
        """Post JSON to an https address on the public internet; what it answers is not read.

        It is signed with each of the secrets, `whsec_…`. Raises Unavailable (send it again under
        the same id), Refused, Invalid (never again).
        """
