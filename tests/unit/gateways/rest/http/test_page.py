"""Pages: every item once, in order, and cursors that only fit their own list."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.errors import Invalid
from opencrab.gateways.rest.http.page import http_page_cursor, http_page_of, place_in_http_cursor

PLACES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)


@given(place=PLACES)
def test_a_cursor_leads_back_to_its_place(place: str) -> None:
    cursor = http_page_cursor("files", place)
    assert place_in_http_cursor("files", cursor) == place
    with pytest.raises(Invalid):
        place_in_http_cursor("agents", cursor)


@given(text=st.text(max_size=40))
def test_any_other_text_is_no_cursor(text: str) -> None:
    try:
        place = place_in_http_cursor("files", text)
    except Invalid:
        return
    assert place is not None
    assert http_page_cursor("files", place) == text


def test_no_cursor_is_the_beginning() -> None:
    assert place_in_http_cursor("files", None) is None


@given(names=st.sets(PLACES), limit=st.integers(1, 5))
def test_pages_together_are_the_whole_list(names: set[str], limit: int) -> None:
    ordered, found = sorted(names), list[str]()
    cursor: str | None = None
    for _ in range(len(names) + 1):
        after = place_in_http_cursor("files", cursor)
        rest = [name for name in ordered if after is None or name > after]
        items, cursor = http_page_of("files", rest[: limit + 1], limit, str)
        assert len(items) <= limit
        found += items
        if cursor is None:
            break
    assert found == ordered
