"""The log of documents that were stored lately."""

from pathlib import Path

import pytest

from opencrab.adapters.sqlite.database import (
    MOST_STORED_DOCUMENTS,
    AlreadyThere,
    Database,
    ItemRow,
    StoredDocumentLog,
)


def test_documents_after_a_moment_are_named_and_a_forgotten_moment_says_so() -> None:
    log = StoredDocumentLog()
    assert log.since(0) is None
    begun = log.moment
    assert log.since(begun) == set()
    log.add([("FACT#a", "memory#1"), ("FACT#a", "memory#2")])
    later = log.moment
    log.add([("FACT#b", "memory#3")])
    assert log.since(later) == {("FACT#b", "memory#3")}
    assert log.since(begun) == {("FACT#a", "memory#1"), ("FACT#a", "memory#2"), *log.since(later)}  # type: ignore[misc]
    log.add([("FACT#c", f"memory#{number}") for number in range(MOST_STORED_DOCUMENTS)])
    assert log.since(begun) is None
    assert log.since(log.moment) == set()


def test_a_document_is_noted_once_it_is_committed_and_other_rows_are_not(tmp_path: Path) -> None:
    database = Database(tmp_path / "opencrab.db", durable=False)
    begun = database.stored_documents.moment
    with pytest.raises(AlreadyThere), database.write_transaction() as items:
        items.add(ItemRow("FACT#a", "memory#1", "{}"), ItemRow("FACT#a", "memory#1", "{}"))
    with database.write_transaction() as items:
        items.put("SESSION#s", "S", "{}")
        items.put("FACT#a", "memory#2", "{}")
        assert database.stored_documents.since(begun) == set()
    assert database.stored_documents.since(begun) == {("FACT#a", "memory#2")}
    with database.write_transaction(relaxed=True) as items:
        items.put("FACT#a", "memory#2", "{ }")
        items.delete("FACT#a", "memory#2")
    assert database.stored_documents.moment == begun + 2
    database.close()
