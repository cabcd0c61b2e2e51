"""Sections of docs/benchmarks.md are replaced each by its own command, and nothing else changes."""

import pytest

from tests.bench.sections import DASHBOARD, KEPT, LARGE, PEERS, RETRIEVAL, kept, replaced

PAGE = "# Benchmarks\n\nfigures\n\n## Upkeep of old\n\nmore\n"
HAND = f"\n## {RETRIEVAL}\n\nby hand\n\n## Learning\n\nalso\n"


def test_a_new_section_comes_before_what_is_kept_after_it() -> None:
    page = replaced(replaced(PAGE + HAND, LARGE, "many"), PEERS, "others")
    page = replaced(page, DASHBOARD, "pages")
    order = [page.index(f"\n## {name}\n") for name in KEPT]
    assert order == sorted(order)
    assert page.startswith(PAGE)
    assert page.endswith(HAND)


@pytest.mark.parametrize("name", KEPT)
def test_a_section_is_replaced_and_the_others_stay(name: str) -> None:
    page = PAGE + "".join(f"\n## {each}\n\nold {each}\n" for each in KEPT) + "\n## Learning\n\nx\n"
    expected = page.replace(f"old {name}", "new \\1")
    assert replaced(page, name, "new \\1\n") == expected


def test_a_page_is_kept_from_the_first_section_that_another_command_writes() -> None:
    page = replaced(PAGE + HAND, PEERS, "others")
    assert PAGE + kept(page) == page
    assert kept(PAGE) == ""
