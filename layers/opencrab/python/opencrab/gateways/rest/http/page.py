"""Pages: lists in parts, and the opaque cursor that leads from one to the next."""

import base64
import binascii
import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Generic, TypeVar

from fastapi import Query
from pydantic import Field

from opencrab.domain.errors import Invalid
from opencrab.domain.value import Value

LIMIT = 50
MOST = 200

_ID = re.compile(r"[A-Za-z0-9_\-.]{1,200}")
_SEQUENCE = re.compile(r"[1-9][0-9]{0,9}")

Item = TypeVar("Item")


class PageQuery(Value, defer_build=False):
    """Which part of a list."""

    cursor: Annotated[str, Field(max_length=2_000)] | None = Field(
        default=None, description="next_cursor of the previous page"
    )
    limit: Annotated[int, Field(ge=1, le=MOST)] = Field(
        default=LIMIT, description="maximum number of items on the page"
    )


Paged = Annotated[PageQuery, Query()]


class Page(Value, Generic[Item]):
    """Part of a list; next_cursor is null when there is nothing more now."""

    items: tuple[Item, ...]
    next_cursor: str | None = None


def page_cursor(listing: str, place: str) -> str:
    """A cursor to what comes after a place in a listing."""
    return base64.urlsafe_b64encode(f"{listing}:{place}".encode()).decode().rstrip("=")


def page_place(listing: str, cursor: str | None) -> str | None:
    """The place that a cursor names; raises Invalid for any other text, or another list's."""
    if cursor is None:
        return None
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        text = base64.b64decode(padded, altchars=b"-_", validate=True).decode("utf-8")
    except (binascii.Error, UnicodeError):
        raise _unknown_cursor() from None
    name, _, place = text.partition(":")
    if name != listing or not place or page_cursor(listing, place) != cursor:
        raise _unknown_cursor()
    return place


def id_in_cursor(listing: str, cursor: str | None) -> str:
    """The id that a cursor names, none to begin with; raises Invalid where that is no id."""
    place = page_place(listing, cursor)
    if place is not None and not _ID.fullmatch(place):
        raise _unknown_cursor()
    return place or ""


def page_of(
    listing: str, found: Sequence[Any], limit: int, place: Callable[[Any], str]
) -> tuple[Sequence[Any], str | None]:
    """A page's items out of one more than asked for, and the cursor that goes on after them."""
    items = found[:limit]
    if len(found) <= limit:
        return items, None
    return items, page_cursor(listing, place(items[-1]))


def page_list(
    listing: str, query: PageQuery, read: Callable[[], Sequence[Any]], place: Callable[[Any], str]
) -> tuple[Sequence[Any], str | None]:
    """As `page_of`, of a list that is read whole; raises Invalid for a place that it has not."""
    after, found = page_place(listing, query.cursor), read()
    places = [place(each) for each in found]
    if after is not None and after not in places:
        raise unknown_cursor_error()
    start = 0 if after is None else places.index(after) + 1
    return page_of(listing, found[start:], query.limit, place)


def sequence_in_cursor(listing: str, cursor: str | None) -> int | None:
    """The sequence of a line that a cursor names; raises Invalid where that is none."""
    place = page_place(listing, cursor)
    if place is None:
        return None
    if not _SEQUENCE.fullmatch(place):
        raise unknown_cursor_error()
    return int(place)


def unknown_cursor_error() -> Invalid:
    """What is raised for a cursor of this list to a place that there is not."""
    return Invalid("invalid cursor for this list", field="cursor", cure="start from the first page")


def _unknown_cursor() -> Invalid:
    return Invalid(
        "invalid cursor for this list",
        field="cursor",
        cure="use next_cursor of the previous page, or omit it to start from the first page",
    )
