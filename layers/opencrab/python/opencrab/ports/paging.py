"""Paging: all facts of one kind, read page by page."""

from collections.abc import Iterator

from opencrab.domain.document import Fact
from opencrab.ports.documents import Facts


def all_of(facts: Facts, agent_id: str, kind: str) -> Iterator[Fact]:
    """Every fact of a kind that an agent keeps."""
    after = ""
    while True:
        page = facts.page(agent_id, kind, after=after, limit=_PAGE)
        yield from page
        if len(page) < _PAGE:
            return
        after = page[-1].id


_PAGE = 200
