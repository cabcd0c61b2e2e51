"""Rows are found by their meaning where vectors are on, and all is as before where they are off."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencrab.adapters.search_rows import Batch
from opencrab.adapters.sqlite_search.index import Index
from opencrab.adapters.sqlite_search.search import SqliteSearch
from opencrab.adapters.sqlite_search.vectors import (
    AT_ONCE,
    BATCH,
    Vectors,
)
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.conversation.session import Hearing
from opencrab.domain.memory.search_row import RowKind, SearchClearance, SearchRow
from opencrab.domain.text.vectors import quantize_text_vector
from opencrab.ports.memory.search import SearchHit, SearchQuery
from tests.meaning import DIMENSIONS, Fake
from tests.soak import examples
from tests.unit.adapters.sqlite_search.machine import Machine, machine
from tests.unit.adapters.sqlite_search.shelf import NOW, index_of, line, lines, mark, memory

OTHER_WORDS = [
    pytest.param("わんこ", "公園で犬が走った", id="ja"),
    pytest.param("puppy", "A dog ran across the park", id="en"),
    pytest.param("clinic", "昨日は病院へ行った", id="from en to ja"),
]


@pytest.fixture
def lived(tmp_path: Path) -> Iterator[Machine]:
    with machine(tmp_path) as made:
        yield made


def near(at: Machine, meaning: Fake) -> SqliteSearch:
    """A search with vectors that has followed all there is."""
    search = at.started(vectors=Vectors(meaning))
    search.catch_up("hana")
    return search


def taught(index: Index, meaning: Fake) -> Index:
    """An index all of whose rows have vectors."""
    teach = Vectors(meaning).vector_writer("a1", FakeClock(NOW))
    while teach(index):
        pass
    return index


def sought(index: Index, text: str, meaning: Fake, **limits: object) -> tuple[SearchHit, ...]:
    query = SearchQuery(text, **limits)  # type: ignore[arg-type]  # limits of a query, by name
    return index.find(query, NOW, Vectors(meaning).query_vector("a1", index, query))


@pytest.mark.parametrize(("asked", "said"), OTHER_WORDS)
def test_other_words_for_the_same_are_found_with_vectors_only(
    lived: Machine, asked: str, said: str
) -> None:
    lived.life.say(said)
    lived.life.say("今日は寒い It is cold")
    lived.search.catch_up("hana")
    assert lived.find(asked) == []
    best = near(lived, Fake()).search("hana", SearchQuery(asked))[0]
    assert best.row.text == said
    assert best.why[0] == "meaning"


def test_words_and_meaning_add_up(lived: Machine) -> None:
    both, words = "犬の値段 price", "値段は price 別の話"
    for text in (words, "わんこ", both):
        lived.life.say(text)
    best = near(lived, Fake()).search("hana", SearchQuery("犬の price"))[0]
    assert best.row.text == both
    assert best.why[:2] == ("words", "meaning")


def test_without_vectors_nothing_is_another_byte(tmp_path: Path) -> None:
    files, answers = [], []
    for name, vectors in (("off", None), ("silent", Vectors(Fake(silent=True)))):
        with machine(tmp_path / name) as at:
            at.life.say("公園で犬が走った")
            at.life.remember("The dog is called Pochi")
            search = at.started(vectors=vectors)
            search.catch_up("hana")
            answers.append((search.search("hana", SearchQuery("公園 dog")), search.status("hana")))
            file = at.folder / "saved.db"
            with search._copies.acquire("hana") as copy:
                copy.index.save(file)
            files.append(file.read_bytes())
    assert files[0] == files[1]
    assert answers[0] == answers[1]
    with closing(sqlite3.connect(tmp_path / "silent" / "saved.db")) as opened:
        tables = {name for (name,) in opened.execute("SELECT name FROM sqlite_master")}
        about = {key for (key,) in opened.execute("SELECT key FROM about")}
    assert not {name for name in tables if "vector" in name}
    assert about <= {"agent", "tokenizer", "at", "mark", "removed"}


def test_who_cannot_say_what_is_meant_leaves_words(lived: Machine) -> None:
    lived.life.say("公園で犬が走った")
    meaning = Fake()
    search = near(lived, meaning)
    meaning.silent = True
    lived.life.say("犬がまた走った")
    search.catch_up("hana")
    assert search.search("hana", SearchQuery("わんこ")) == ()
    found = search.search("hana", SearchQuery("走った"))
    assert {each.row.text for each in found if "words" in each.why} == {
        "公園で犬が走った",
        "犬がまた走った",
    }
    assert (search.status("hana").vectors, search.status("hana").rows) == (2, 3)
    meaning.silent = False
    search.catch_up("hana")
    assert (search.status("hana").vectors, search.status("hana").vector_model) == (3, "fake:one")


def test_nobody_is_asked_where_there_is_nothing_to_compare_with(lived: Machine) -> None:
    meaning = Fake()
    search = lived.started(vectors=Vectors(meaning))
    search.search("hana", SearchQuery("わんこ"))
    near(lived, meaning)
    asked = len(meaning.asked)
    for query in (SearchQuery("  "), SearchQuery(""), SearchQuery("わんこ", limit=0)):
        assert search.search("hana", query) == ()
    meaning.name = "fake:two"
    search.search("hana", SearchQuery("わんこ"))
    assert len(meaning.asked) == asked
    assert all(len(texts) <= BATCH for texts in meaning.asked)


def test_vectors_of_another_model_are_made_anew(lived: Machine) -> None:
    lived.life.say("公園で犬が走った")
    near(lived, Fake("fake:one"))
    other = Fake("fake:two")
    search = near(lived, other)
    assert sorted(text for texts in other.asked for text in texts) == [
        "hana's crab 蟹",
        "公園で犬が走った",
    ]
    assert search.status("hana").vector_model == "fake:two"
    assert search.search("hana", SearchQuery("わんこ"))[0].row.text == "公園で犬が走った"


def test_vectors_travel_with_snapshots_and_are_asked_for_once(lived: Machine) -> None:
    lived.life.say("公園で犬が走った")
    near(lived, Fake())
    meaning = Fake()
    search = near(lived, meaning)
    assert meaning.asked == []
    assert search.search("hana", SearchQuery("わんこ"))[0].row.text == "公園で犬が走った"
    assert meaning.asked == [("わんこ",)]
    assert meaning.queries == ("わんこ",)


def test_a_publication_that_begins_again_asks_for_no_text_twice(lived: Machine) -> None:
    meaning = Fake()
    vectors = Vectors(meaning)
    teach = vectors.vector_writer("a1", FakeClock(NOW))
    rows = [line(n, f"話{n} of a dog") for n in range(1, 9)]
    with closing(index_of(*rows)) as one, closing(index_of(*rows, line(9, "new"))) as other:
        assert (teach(one), teach(other)) == (8, 9)
    texts = [text for texts in meaning.asked for text in texts]
    assert len(texts) == len(set(texts)) == 9


def test_a_long_past_gets_its_vectors_bit_by_bit() -> None:
    meaning = Fake()
    with closing(Index("a1", None)) as index:
        rows = tuple(line(n, f"{n}番目") for n in range(1, AT_ONCE + 11))
        index.take([Batch(rows=rows)], NOW)
        teach = Vectors(meaning).vector_writer("a1", FakeClock(NOW))
        assert [teach(index), teach(index), teach(index)] == [AT_ONCE, 10, 0]


def test_a_slow_model_does_not_hold_up_a_publication() -> None:
    clock = FakeClock(NOW)
    meaning = Fake(clock=clock)
    with closing(Index("a1", None)) as index:
        rows = tuple(line(n, f"{n}番目") for n in range(1, BATCH * 3))
        index.take([Batch(rows=rows)], NOW)
        assert Vectors(meaning).vector_writer("a1", clock)(index) == BATCH


def test_what_is_forgotten_loses_its_vector_to_the_last_byte(tmp_path: Path) -> None:
    meaning = Fake()
    with closing(Index("a1", tmp_path / "made.db")) as index:
        index.take([Batch(rows=(line(1, "犬の名前はポチ"), line(2, "海へ行く")))], NOW)
        index.update(memory("m1", "病院は駅前"))
        taught(index, meaning)
        kept = "SELECT body FROM vector ORDER BY row"
        bodies = [body for (body,) in index.ask(lambda file: file.execute(kept).fetchall())]
        index.take([mark(1, lines=lines(1, 1))], NOW)
        index.drop(RowKind.MEMORY, "m1")
        saved = tmp_path / "saved.db"
        index.save(saved)
        index.vacuum()
        assert sought(index, "ocean", meaning)[0].row.text == "海へ行く"
    for file in (saved, tmp_path / "made.db"):
        content = file.read_bytes()
        assert [body in content for body in bodies] == [False, True, False]


def test_a_row_that_takes_the_number_of_another_has_no_vector_of_it() -> None:
    meaning = Fake()
    with closing(index_of(memory("m1", "犬"))) as index:
        taught(index, meaning)
        index.update(memory("m1", "値段", at=NOW + timedelta(days=1)))
        assert Vectors(meaning).coverage(index) == (0, "fake:one")
        assert sought(index, "わんこ", meaning) == ()


def test_what_has_no_direction_is_near_nothing_and_is_asked_for_once() -> None:
    meaning = Fake()
    with closing(index_of(line(1, "…"), line(2, "犬"))) as index:
        taught(index, meaning)
        index.change(_empty_first)
        assert [each.row.text for each in sought(index, "わんこ", meaning) if "meaning" in each.why]
        taught(index, meaning)
        assert len(meaning.asked) == 2


def _empty_first(file: sqlite3.Connection) -> None:
    file.execute(
        "UPDATE vector SET body = ? WHERE row = 1", (quantize_text_vector([0.0] * DIMENSIONS).body,)
    )


HEARINGS = st.sampled_from(Hearing)
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["s1", "s2"]),
        st.sampled_from([RowKind.SPEECH, RowKind.INNER_VOICE, RowKind.MEMORY]),
        HEARINGS,
        st.sampled_from(["", "g1", "g2"]),
        st.sampled_from(["p1", "p2"]),
        st.sampled_from(["犬", "a dog", "わんこ", "海"]),
    ),
    min_size=1,
    max_size=12,
)
CLEARANCES = st.builds(
    SearchClearance,
    whole=st.booleans(),
    session_id=st.sampled_from(["", "s1", "s2"]),
    guild_id=st.sampled_from(["", "g1", "g2"]),
    person_id=st.sampled_from(["", "p1", "p2"]),
)


@settings(max_examples=examples(60), deadline=None)
@given(ROWS, CLEARANCES)
def test_nothing_is_found_by_meaning_that_may_not_be_found(
    drawn: list[tuple[str, RowKind, Hearing, str, str, str]], clearance: SearchClearance
) -> None:
    rows = [
        SearchRow(
            session_id=session,
            sequence=0 if kind is RowKind.MEMORY else number,
            kind=kind,
            hearing=hearing,
            speaker_id=person,
            speaker="",
            at=NOW,
            text=text,
            guild_id=guild,
            ref=f"m{number}" if kind is RowKind.MEMORY else "",
        )
        for number, (session, kind, hearing, guild, person, text) in enumerate(drawn, 1)
    ]
    spoken = [row for row in rows if row.is_spoken]
    spoke = {row.session_id for row in spoken if row.speaker_id == clearance.person_id}
    meaning = Fake()
    with closing(index_of(*rows)) as index:
        taught(index, meaning)
        found = sought(index, "puppy", meaning, clearance=clearance, limit=50)
    allowed = {row.id for row in rows if clearance.allows(row, spoke)}
    named = {row.id for row in rows if row.text in {"犬", "a dog", "わんこ"}}
    assert {each.row.id for each in found} <= allowed
    assert named & allowed <= {each.row.id for each in found}


def test_filters_hold_for_what_is_found_by_meaning() -> None:
    meaning = Fake()
    rows = (line(1, "犬"), line(2, "犬", session_id="s2"), memory("m1", "犬"))
    with closing(index_of(*rows)) as index:
        taught(index, meaning)
        found = sought(index, "puppy", meaning, kinds=frozenset({RowKind.MEMORY}))
        assert [each.row.ref for each in found] == ["m1"]
        assert sought(index, "puppy", meaning, session_id="s3") == ()
        before = sought(index, "puppy", meaning, before=("s1", 1), session_id="s1")
        assert [each.row.ref for each in before] == ["m1"]


def test_the_order_in_which_equal_rows_came_in_does_not_matter() -> None:
    rows = [line(n, "犬") for n in range(1, 260)]
    answers = []
    for order in (rows, rows[::-1]):
        with closing(index_of(*order)) as index:
            taught(index, Fake())
            answers.append(sought(index, "puppy", Fake(), limit=50))
    assert answers[0] == answers[1]
    assert len(answers[0]) == 50


def test_what_may_not_be_found_takes_nobodys_place() -> None:
    meaning = Fake()
    private = tuple(line(n, "犬 dog", hearing=Hearing.PRIVATE) for n in range(1, 260))
    heard = line(1, "わんこがいた", session_id="s2", hearing=Hearing.PUBLIC)
    with closing(index_of(*private, heard)) as index:
        taught(index, meaning)
        found = sought(index, "犬 dog", meaning, clearance=SearchClearance(session_id="s3"))
    assert [each.row.text for each in found] == ["わんこがいた"]


@pytest.mark.parametrize(("asked", "said"), OTHER_WORDS)
def test_who_asks_for_nobodys_turn_has_no_vector_paid_for(
    lived: Machine, asked: str, said: str
) -> None:
    meaning = Fake()
    search = near(lived, meaning)
    before = len(meaning.asked)
    search.search("hana", SearchQuery(asked, clearance=SearchClearance(person_id="taro")))
    assert len(meaning.asked) == before
    search.search(
        "hana", SearchQuery(asked, clearance=SearchClearance(session_id="s1", person_id="taro"))
    )
    assert len(meaning.asked) == before + 1
