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
from opencrab.engine.access.list_cursor import unhidden_principal_place
from opencrab.engine.runtime import Runtime

NEXT = "X-OpenCrab-Next-Cursor"
"""The header with the cursor of the next request; unchanged if nothing is new."""

JSON_LINES = "application/x-ndjson"

LIMIT = 50
MOST = 200

_ID = re.compile(r"[A-Za-z0-9_\-.]{1,200}")
_SEQUENCE = re.compile(r"[1-9][0-9]{0,9}")

Item = TypeVar("Item")


class PageQuery(Value, defer_build=False):
    """The part of a list that a request asks for."""

    cursor: Annotated[str, Field(max_length=2_000)] | None = Field(
        default=None, description="`next_cursor` of the previous page; omit it for the first page"
    )
    limit: Annotated[int, Field(ge=1, le=MOST)] = Field(
        default=LIMIT, description="maximum number of items on the page"
    )


Paged = Annotated[PageQuery, Query()]


class Page(Value, Generic[Item]):
    """Part of a list; `next_cursor` is null at its end."""

    items: tuple[Item, ...]
    next_cursor: str | None = None


def http_page_cursor(listing: str, place: str) -> str:
    """Return the cursor to the items after a place in a list."""
    return base64.urlsafe_b64encode(f"{listing}:{place}".encode()).decode().rstrip("=")


def http_cursor_after(listing: str, place: str | None) -> str | None:
    """Return the cursor to the items after a place; None if there are no more."""
    return None if place is None else http_page_cursor(listing, place)


def place_in_http_cursor(listing: str, cursor: str | None) -> str | None:
    """Return the place of a cursor; raises Invalid for a malformed cursor or another list's."""
    if cursor is None:
        return None
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        text = base64.b64decode(padded, altchars=b"-_", validate=True).decode("utf-8")
    except (binascii.Error, UnicodeError):
        raise _unknown_cursor() from None
    name, _, place = text.partition(":")
    if name != listing or not place or http_page_cursor(listing, place) != cursor:
        raise _unknown_cursor()
    return place


def unhidden_place_in_http_cursor(runtime: Runtime, listing: str, cursor: str | None) -> str:
    """Return the place of a cursor, "" at the beginning; `principal_place_hider` may name it."""
    place = place_in_http_cursor(listing, cursor)
    if place is None:
        return ""
    found = unhidden_principal_place(runtime, listing, place)
    if found is None:
        raise unknown_http_cursor_error()
    return found


def id_in_http_cursor(listing: str, cursor: str | None) -> str:
    """Return the id of a cursor, empty at the beginning; raises Invalid if it is not an id."""
    place = place_in_http_cursor(listing, cursor)
    if place is not None and not _ID.fullmatch(place):
        raise _unknown_cursor()
    return place or ""


def http_page_of(
    listing: str, found: Sequence[Any], limit: int, place: Callable[[Any], str]
) -> tuple[Sequence[Any], str | None]:
    """Return a page and the cursor after it; `found` has one item beyond `limit` if more exist."""
    items = found[:limit]
    if len(found) <= limit:
        return items, None
    return items, http_page_cursor(listing, place(items[-1]))


def http_page_of_list(
    listing: str, query: PageQuery, read: Callable[[], Sequence[Any]], place: Callable[[Any], str]
) -> tuple[Sequence[Any], str | None]:
    """Return a page of a list that is read whole; raises Invalid for an unknown place."""
    after, found = place_in_http_cursor(listing, query.cursor), read()
    places = [place(each) for each in found]
    if after is not None and after not in places:
        raise unknown_http_cursor_error()
    start = 0 if after is None else places.index(after) + 1
    return http_page_of(listing, found[start:], query.limit, place)


def sequence_in_http_cursor(listing: str, cursor: str | None) -> int | None:
    """Return the line sequence of a cursor; raises Invalid if it is not one."""
    place = place_in_http_cursor(listing, cursor)
    if place is None:
        return None
    if not _SEQUENCE.fullmatch(place):
        raise unknown_http_cursor_error()
    return int(place)


def unknown_http_cursor_error() -> Invalid:
    """Return the error for a cursor to a place that the list does not have."""
    return Invalid("invalid cursor for this list", field="cursor", cure="start from the first page")


def _unknown_cursor() -> Invalid:
    return Invalid(
        "invalid cursor for this list",
        field="cursor",
        cure="use next_cursor of the previous page, or omit it to start from the first page",
    )


def cursor_place(listing: str, cursor: str | None) -> str:
    """Return the place of a cursor, "" at the beginning; raises Invalid for one of another list."""
    try:
        return place_in_http_cursor(listing, cursor) or ""
    except Invalid as error:
        cure = f"use the header {NEXT} of the previous page, or omit it to start from the beginning"
        raise Invalid(error.message, field="after", cure=cure) from None
