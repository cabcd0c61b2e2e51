"""Terms: SQLite's tokenizer stems as Lucene's filter does, so both find the same words."""

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.opensearch.terms import opensearch_term_shares
from tests.opensearch.porter import _STEP_2, _STEP_3, _STEP_4, stem

ENDINGS = (*_STEP_2, *_STEP_3, *_STEP_4, *("s", "es", "ies", "sses", "ss", "ed", "eed", "ing"))
MORE = ("ly", "e", "y", "ll", "")
# SQLite takes "yy" for a double consonant; to Porter and Lucene one of the two is a vowel. No word
# of English has it.
WORDS = st.lists(
    st.builds(
        "{}{}".format,
        st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=1, max_size=7),
        st.sampled_from([*ENDINGS, *MORE]),
    ).filter(lambda word: "yy" not in word),
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


@given(WORDS, st.data())
def test_rows_in_our_hands_have_the_words_that_the_server_would_find(
    words: list[str], data: st.DataObject
) -> None:
    sought = data.draw(st.sampled_from(words))
    texts = {str(place): word for place, word in enumerate(words)}
    found = {key for key, word in texts.items() if stem(word) == stem(sought)}
    assert set(opensearch_term_shares([sought], texts)) == found


def test_a_text_has_more_of_a_query_by_the_words_that_few_have() -> None:
    texts = {"both": "crabs walked", "rare": "walking", "common": "crab", "none": "sea"}
    found = opensearch_term_shares(
        ["crab", "walk", "unheard"], {**texts, "more": "crab", "most": "crab"}
    )
    assert found["both"] == 1.0
    assert 0 < found["common"] < found["rare"] < 1
    assert "none" not in found


@pytest.mark.parametrize("term", ['"', "", "蟹", "々", "x" * 100, "AND", "a*"])
def test_any_term_can_be_looked_for(term: str) -> None:
    assert set(opensearch_term_shares([term, "crab"], {"one": "crab"})) == {"one"}


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
