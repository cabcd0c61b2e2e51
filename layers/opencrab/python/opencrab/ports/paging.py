"""Paging: listings read to their end, page by page and only as far as somebody wants."""

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Any, TypeVar

from opencrab.domain.document import Document
from opencrab.ports.documents import Documents

T = TypeVar("T")

_PAGE = 200


def paginate(
    read: Callable[..., Sequence[T]],
    *place: str,
    after: str | int | None = None,
    limit: int = _PAGE,
    key: Callable[[T], Any] = attrgetter("id"),
    **wanted: object,
) -> Iterator[T]:
    """All that a listing has at a place after something; a page that is not full is its last.

    `read` takes the place, `after` and `limit`, and whatever else is `wanted`; `key` is what the
    next page comes after.
    """
    while True:
        page = read(*place, after=after, limit=limit, **wanted)
        yield from page
        if len(page) < limit:
            return
        after = key(page[-1])


def all_pages(facts: Documents, owner: str, kind: str, *, after: str = "") -> Iterator[Document]:
    """Every fact of a kind that an owner keeps, or those after an id."""
    return paginate(facts.page, owner, kind, after=after)
