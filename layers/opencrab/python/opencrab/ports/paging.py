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
    """Yield all items of a listing at a place, after `after`; a page that is not full is the last.

    `read` takes the place, `after` and `limit`, and the `wanted` arguments; `key` returns the
    `after` of the next page from an item.
    """
    while True:
        page = read(*place, after=after, limit=limit, **wanted)
        yield from page
        if len(page) < limit:
            return
        after = key(page[-1])


def all_pages(facts: Documents, owner: str, kind: str, *, after: str = "") -> Iterator[Document]:
    """Yield all documents of an owner and kind, or those after an id."""
    return paginate(facts.page, owner, kind, after=after)
