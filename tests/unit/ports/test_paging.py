"""Paging: everything comes once and in order, and no page is read that nobody wants."""

from collections.abc import Sequence
from itertools import islice
from operator import attrgetter
from types import SimpleNamespace
from typing import Any

import pytest

from opencrab.ports.paging import paginate


class Listing:
    """Numbered things, read from a place on; it remembers what it was asked."""

    def __init__(self, size: int) -> None:
        self._all = [SimpleNamespace(id=number) for number in range(1, size + 1)]
        self.asked: list[tuple[str, int | None, int]] = []

    def page(self, owner: str, *, after: int | None, limit: int) -> Sequence[Any]:
        self.asked.append((owner, after, limit))
        return [each for each in self._all if each.id > (after or 0)][:limit]


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5])
def test_everything_comes_once_and_in_order(size: int) -> None:
    listing = Listing(size)
    found = list(paginate(listing.page, "crab", limit=2))
    assert [each.id for each in found] == list(range(1, size + 1))
    assert len(listing.asked) == size // 2 + 1


def test_pages_that_nobody_wants_are_not_read() -> None:
    listing = Listing(9)
    found = list(islice(paginate(listing.page, "crab", after=1, limit=2), 3))
    assert [each.id for each in found] == [2, 3, 4]
    assert listing.asked == [("crab", 1, 2), ("crab", 3, 2)]


def test_what_the_next_page_comes_after_may_be_named() -> None:
    listing = Listing(3)
    assert len(list(paginate(listing.page, "crab", limit=2, key=attrgetter("id")))) == 3
