"""Stems: the same as SQLite's tokenizer makes, which is the same algorithm as Lucene's."""

import sqlite3

from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.opensearch.porter import _STEP_2, _STEP_3, _STEP_4, stem

ENDINGS = (*_STEP_2, *_STEP_3, *_STEP_4, *("s", "es", "ies", "sses", "ss", "ed", "eed", "ing"))
MORE = ("ly", "e", "y", "ll", "")
WORDS = st.lists(
    st.builds(
        "{}{}".format,
        st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=1, max_size=7),
        st.sampled_from([*ENDINGS, *MORE]),
    ),
    min_size=1,
    max_size=30,
)


def stems_of_sqlite(words: list[str]) -> list[str]:
    """What SQLite keeps of words."""
    database = sqlite3.connect(":memory:")
    try:
        database.execute("CREATE VIRTUAL TABLE t USING fts5(x, tokenize='porter unicode61')")
        database.execute("CREATE VIRTUAL TABLE v USING fts5vocab(t, instance)")
        rows = enumerate(words, 1)
        database.executemany("INSERT INTO t (rowid, x) VALUES (?, ?)", rows)
        found = dict(database.execute("SELECT doc, term FROM v").fetchall())
    finally:
        database.close()
    return [found[number] for number in range(1, len(words) + 1)]


@given(WORDS)
def test_any_word_has_the_stem_that_sqlite_gives_it(words: list[str]) -> None:
    assert [stem(word) for word in words] == stems_of_sqlite(words)


def test_words_in_other_letters_are_left_as_they_are() -> None:
    assert [stem(word) for word in ("蟹", "カニ", "größe", "", "ad")] == [
        "蟹",
        "カニ",
        "größe",
        "",
        "ad",
    ]


def test_forms_of_a_word_have_one_stem() -> None:
    assert {stem(word) for word in ("walk", "walks", "walked", "walking")} == {"walk"}
