"""What a copy has beyond what is published: enough to make another copy its equal, and no more."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from opencrab.adapters.search_rows import Batch, IndexProgress
from opencrab.adapters.sqlite_search.index import Index
from opencrab.adapters.sqlite_search.ingest import TextChanges
from opencrab.adapters.sqlite_search.publication.unpublished import (
    unpublished_sqlite_search_batches,
)
from opencrab.domain.memory.search_row import RowKind
from tests.unit.adapters.sqlite_search.shelf import NOW, line, lines, mark, memory

PUBLISHED = (
    Batch(rows=(line(1, "蟹が歩く"), line(2, "the crab walks")), session_id="s1", last=3),
    Batch(
        rows=(memory("m1", "太郎の誕生日"), memory("m2", "a birthday")), kind="memory", last_id="2"
    ),
)


@pytest.fixture
def index() -> Iterator[Index]:
    with closing(Index("a1", None)) as made:
        made.take(PUBLISHED, NOW)
        made.unpublished = TextChanges()
        yield made


def news(index: Index, published: IndexProgress) -> list[Batch]:
    assert index.unpublished is not None
    documents = index.unpublished.documents
    progress = index.progress()
    return index.ask(
        lambda each: list(unpublished_sqlite_search_batches(each, progress, published, documents))
    )


def test_nothing_new_is_nothing(index: Index) -> None:
    assert news(index, index.progress()) == []


def test_another_copy_becomes_equal_by_what_is_new(index: Index) -> None:
    before = index.progress()
    index.take(
        [
            Batch(rows=(line(5, "新しい行"),), session_id="s1", last=6),
            Batch(session_id="silent", last=9),
            Batch(rows=(memory("m3", "新しい記憶", guild_id="g"),), kind="memory", last_id="3"),
        ],
        NOW,
    )
    index.update(memory("m1", "another wording"))
    batches = news(index, before)
    assert [row.text for each in batches for row in each.rows] == [
        "新しい行",
        "another wording",
        "新しい記憶",
    ]
    with closing(Index("a1", None)) as other:
        other.take([*PUBLISHED, *batches], NOW)
        assert other.content() == index.content()
        assert other.progress() == index.progress()


def test_it_is_noted_whether_text_went_for_good_or_for_another_wording(index: Index) -> None:
    index.update(memory("m1", "太郎の誕生日", importance=0.9))
    assert noted(index) == (False, False)
    index.update(memory("m1", "次郎の誕生日"))
    assert noted(index) == (True, False)
    index.drop(RowKind.MEMORY, "unknown")
    assert noted(index) == (True, False)
    index.drop(RowKind.MEMORY, "m2")
    assert noted(index) == (True, True)
    assert index.unpublished is not None
    documents = {(RowKind.MEMORY, each) for each in ("m1", "m2", "unknown")}
    assert index.unpublished.documents == documents


def noted(index: Index) -> tuple[bool, bool]:
    """Whether a text got another wording, and whether one was erased."""
    assert index.unpublished is not None
    return index.unpublished.is_reworded, index.unpublished.is_erased


@pytest.mark.parametrize("changes", [{"lines": lines(1, 1)}, {"everything": True}])
def test_a_mark_that_removes_lines_is_noted(index: Index, changes: dict[str, object]) -> None:
    index.take([mark(1, **changes)], NOW)
    assert index.unpublished is not None
    assert index.unpublished.is_erased


def test_a_transaction_that_fails_notes_nothing(index: Index) -> None:
    with pytest.raises(AttributeError):
        index.take([Batch(rows=(memory("m9", "lost"),)), None], NOW)  # type: ignore[list-item]
    assert index.unpublished == TextChanges()
