"""Search where the index is written: what is read and written, and what nobody finds any more."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from opencrab.adapters.sqlite_search.index import Index
from opencrab.adapters.sqlite_search.vectors import Vectors
from opencrab.domain.errors import Unavailable
from opencrab.domain.memory.search_row import RowKind
from opencrab.ports.memory.search import SearchQuery
from tests.meaning import Fake
from tests.searching import searching_copies
from tests.unit.adapters.sqlite_search.live_machine import Place, burst, place_in


@pytest.fixture
def at(tmp_path: Path) -> Iterator[Place]:
    with place_in(tmp_path) as made:
        yield made


@pytest.mark.parametrize("count", [20, 400])
def test_after_a_burst_a_search_reads_only_what_it_finds(at: Place, count: int) -> None:
    burst(at, count)
    assert at.find() == ["hana's crab 蟹"]
    at.reads()
    for _ in range(3):
        assert at.find() == ["hana's crab 蟹"]
    assert at.reads() == 0
    at.life.remember("crab of memory 蟹")
    assert at.find("蟹") == ["crab of memory 蟹", "hana's crab 蟹"]
    # Once to index it, once to confirm that it is as it was.
    assert at.reads() == 2


@pytest.mark.parametrize("count", [20, 400])
def test_a_search_with_copies_reads_a_burst_again_for_five_minutes_only(
    at: Place, count: int
) -> None:
    watched = replace(at.home, facts=at.facts)
    copies = searching_copies(watched, at.clock, at.folder)
    burst(at, count)
    copies.search("hana", SearchQuery("crab"))
    at.clock.advance(301)
    copies.search("hana", SearchQuery("crab"))
    at.reads()
    assert [each.row.text for each in copies.search("hana", SearchQuery("crab"))] != []
    assert at.reads() == 0
    copies.close()


def test_a_search_without_news_writes_nothing(at: Place) -> None:
    at.find()
    before = [
        (each.stat().st_mtime_ns, each.stat().st_size) for each in (at.file(), at.file("-wal"))
    ]
    at.clock.advance(3_600)
    at.find()
    at.find("蟹")
    after = [
        (each.stat().st_mtime_ns, each.stat().st_size) for each in (at.file(), at.file("-wal"))
    ]
    assert after == before


@pytest.mark.parametrize("count", [50, 3_000])
def test_one_more_line_writes_a_few_pages_however_large_the_index_is(at: Place, count: int) -> None:
    for number in range(0, count, 50):
        at.life.say(" ".join(f"word{number + each}" for each in range(50)))
        burst(at, 50)
    at.find()
    at.search.close()
    at.restarted()
    at.find()
    written = list[int]()
    for number in range(10):
        at.life.say(f"one more line about a crab, number {number}, 蟹の話をもう一つ")
        before = at.file("-wal").stat().st_size
        assert at.home.feed is not None
        at.search.index_entries(at.home.feed.read(after=at.home.feed.position() - 1, limit=10))
        written.append(at.file("-wal").stat().st_size - before)
    assert 0 < sum(written) / len(written) <= 64 * 1024
    assert len(at.find("one more line about")) >= 10


def test_two_processes_share_a_file(at: Place) -> None:
    other = at.started()
    memory_id = at.life.remember("crab 珈琲 coffee")
    assert at.find("coffee") == at.find("coffee", search=other) == ["crab 珈琲 coffee"]
    at.life.reword(memory_id, "crab 紅茶 tea")
    assert at.find("紅茶") == ["crab 紅茶 tea"]
    assert at.find("珈琲 coffee", search=other) == []
    at.life.say("Mio speaks", speaker_id="mio", speaker_name="Mio")
    for search in (at.search, other):
        assert "Mio speaks" in at.find("Mio speaks", search=search)
    at.life.mark(("s1", 1, 1), refs=(f"memory:{memory_id}",))
    for search in (other, at.search):
        assert at.find("crab 蟹", search=search) == []
    assert at.search.status("hana").rows == other.status("hana").rows == 1


def test_forgetting_leaves_no_byte_in_the_file_or_its_log(at: Place) -> None:
    secret, also = "qqzebrakk", "極秘事項"
    for number in range(20):
        at.life.say(f"{secret} {number} {also} " + "padding " * 50)
    memory_id = at.life.remember(f"{secret} memory")
    other = at.started()
    assert len(at.find(secret)) == len(at.find(secret, search=other)) > 20
    assert at.holding(secret) != []
    at.life.mark(("s1", 2, 21), refs=(f"memory:{memory_id}",))
    # Who comes across the mark by the way has no byte left either.
    assert at.find() == ["hana's crab 蟹"]
    assert at.holding(secret) == at.holding(also) == []
    at.search.apply_erasures("hana")
    assert at.find(secret, search=other) == []
    assert at.holding(secret) == at.holding(also) == []


@pytest.mark.parametrize("secret", ["qqzebrakk", "極秘事項"])
def test_forgetting_is_not_done_while_another_process_keeps_the_log(
    tmp_path: Path, secret: str
) -> None:
    with place_in(tmp_path) as at:
        memory_id = at.life.remember(secret)
        at.find()
        at.search.close()
        at.life.remove("memory", memory_id)
        with closing(Index("hana", at.file(), live=True)) as index:
            index.ask(lambda connection: connection.execute("PRAGMA busy_timeout=20"))
            index.drop(RowKind.MEMORY, memory_id)
            with closing(sqlite3.connect(at.file(), isolation_level=None)) as reader:
                reader.execute("BEGIN")
                reader.execute("SELECT count(*) FROM row").fetchone()
                for _ in range(2):
                    with pytest.raises(Unavailable, match="another process reads"):
                        index.erase_removed()
            index.erase_removed()
            assert at.holding(secret) == []


def test_old_words_of_a_changed_memory_are_gone_after_the_next_erasure(at: Place) -> None:
    memory_id = at.life.remember("qqzebrakk 極秘事項")
    at.find()
    at.life.reword(memory_id, "nothing special 普通のこと")
    at.find()
    at.search.apply_erasures("hana")
    assert at.holding("qqzebrakk") == at.holding("極秘") == []
    assert at.find("普通") == ["nothing special 普通のこと"]


def test_files_of_many_agents_are_open_a_few_at_a_time(at: Place) -> None:
    for number in range(6):
        at.life.meet(f"of{number}", f"agent{number}")
        at.life.say(f"crab {number}", f"of{number}")
    for round_number in range(2):
        for number in range(6):
            found = at.find("crab", f"agent{number}")
            assert found[0] == f"crab {number}"
            at.life.say(f"crab {number} of {round_number}", f"of{number}")
    at.search.close()
    assert not list(at.file().parent.glob("*-wal"))


def test_speakers_and_names_follow_what_is_removed(at: Place) -> None:
    at.life.say("Mio said crab", speaker_id="mio", speaker_name="Mio")
    at.find()
    at.life.mark(("s1", 2, 2))
    at.find()
    with at.search._pool.acquire("hana") as live:
        names = live.index.ask(
            lambda connection: {text for (text,) in connection.execute("SELECT text FROM name")}
        )
        spoke = live.index.content()[1]
    assert names == {"s1", "taro", "太郎"}
    assert spoke == (("taro", "s1"),)
    kinds = {hit.row.kind for hit in at.search.search("hana", SearchQuery("crab"))}
    assert kinds == {RowKind.SPEECH}


@pytest.mark.parametrize(
    ("asked", "said"), [("わんこ", "公園で犬が走った"), ("puppy", "A dog ran across the park")]
)
def test_rows_are_found_by_meaning_and_embedded_once(at: Place, asked: str, said: str) -> None:
    at.life.say(said)
    assert at.find(asked) == []
    at.started(vectors=Vectors(Fake())).catch_up("hana")
    meaning = Fake()
    again = at.started(vectors=Vectors(meaning))
    again.catch_up("hana")
    assert meaning.asked == []
    assert again.search("hana", SearchQuery(asked))[0].row.text == said
    assert again.status("hana").vectors == 2
    at.life.mark(("s1", 2, 2))
    again.apply_erasures("hana")
    assert again.status("hana").vectors == 1
