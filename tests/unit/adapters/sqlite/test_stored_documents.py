"""Which documents were committed lately, for whoever looks through all of them more than once."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from opencrab.adapters.sqlite.database import (
    MOST_STORED_DOCUMENTS,
    AlreadyThere,
    Database,
    ItemRow,
)


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Database]:
    with closing(Database(tmp_path / "opencrab.db", durable=False)) as database:
        yield database


def test_documents_after_a_moment_are_named_and_a_forgotten_moment_says_so(
    opened: Database,
) -> None:
    def store(*names: str) -> set[tuple[str, str]]:
        with opened.write_transaction() as items:
            for name in names:
                items.put("FACT#a", name, "{}")
        return {("FACT#a", name) for name in names}

    assert opened.documents_stored_since(0) is None
    begun = opened.moment()
    assert opened.documents_stored_since(begun) == set()
    first = store("memory#1", "memory#2")
    later = opened.moment()
    second = store("memory#3")
    assert opened.documents_stored_since(later) == second
    assert opened.documents_stored_since(begun) == first | second
    store(*(f"memory#{number}" for number in range(MOST_STORED_DOCUMENTS - 1)))
    assert opened.documents_stored_since(begun) is None
    assert second <= (opened.documents_stored_since(later) or set())
    assert opened.documents_stored_since(opened.moment()) == set()


def test_a_document_is_noted_once_it_is_committed_and_other_rows_are_not(opened: Database) -> None:
    begun = opened.moment()
    with pytest.raises(AlreadyThere), opened.write_transaction() as items:
        items.add(ItemRow("FACT#a", "memory#1", "{}"), ItemRow("FACT#a", "memory#1", "{}"))
    with opened.write_transaction() as items:
        items.put("SESSION#s", "S", "{}")
        items.put("FACT#a", "memory#2", "{}")
        assert opened.moment() == begun
    assert opened.documents_stored_since(begun) == {("FACT#a", "memory#2")}
    with opened.write_transaction(relaxed=True) as items:
        items.put("FACT#a", "memory#2", "{ }")
        items.delete("FACT#a", "memory#2")
    assert opened.moment() == begun + 2
