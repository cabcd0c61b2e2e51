"""JSON Lines in parts: the header with the cursor that leads from one part to the next."""

from opencrab.domain.errors import Invalid
from opencrab.gateways.rest.http.page import place_in_http_cursor

NEXT = "X-OpenCrab-Next-Cursor"
"""The header with the cursor of the next request; unchanged if nothing is new."""

JSON_LINES = "application/x-ndjson"


def cursor_place(listing: str, cursor: str | None) -> str:
    """Return the place of a cursor, "" at the beginning; raises Invalid for one of another list."""
    try:
        return place_in_http_cursor(listing, cursor) or ""
    except Invalid as error:
        cure = f"use the header {NEXT} of the previous page, or omit it to start from the beginning"
        raise Invalid(error.message, field="after", cure=cure) from None
