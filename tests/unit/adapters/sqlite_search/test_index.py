"""An agent's index: what it finds, what it forgets, and which files it trusts."""

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from opencrab.adapters.search_rows import Batch, IndexProgress
from opencrab.adapters.sqlite_search.index import DamagedIndex, Index
from opencrab.domain.conversation.session import Hearing
from opencrab.domain.erasure.request import ErasureScope
from opencrab.domain.memory.search_row import RowKind
from opencrab.domain.text.terms import index_terms_of_text
from tests.unit.adapters.sqlite_search.shelf import (
    NOW,
    found,
    ids,
    index_of,
    line,
    lines,
    mark,
    memory,
)

TALK = (
    line(1, "夏休みはどこへ行きたいですか?"),
    line(2, "島根の温泉がいいです", speaker_id="p2", speaker="Ken"),
    line(3, "When does the train leave?"),
    line(4, "On Friday, at nine in the morning.", speaker_id="p2", speaker="Ken"),
    line(5, "Then we should be running, not walking."),
)


def test_it_finds_what_was_said_in_either_language() -> None:
    index = index_of(*TALK)
    assert ids(index, "温泉")[0] == "s1:2"
    assert ids(index, "島根のどの温泉がよかったですか?")[0] == "s1:2"
    assert ids(index, "Who runs?")[0] == "s1:5"
    assert ids(index, "\uff34\uff32ain")[0] == "s1:3"
    assert ids(index, "蒸気機関車") == []


def test_what_is_found_is_the_row_that_was_taken() -> None:
    rows = (
        line(1, "秘密の\0合言葉", kind=RowKind.INNER_VOICE, hearing=Hearing.PRIVATE, taint=True),
        line(2, "合言葉は海", guild_id="g1", hearing=Hearing.GUILD, at=NOW + timedelta(0, 0, 1)),
        memory("m1", "合言葉を忘れない", importance=0.9, guild_id="g1"),
        line(3, "合言葉", hearing=Hearing.PUBLIC, kind=RowKind.INSTRUCTION, speaker=""),
    )
    answer = found(index_of(*rows), "合言葉")
    assert {each.row for each in answer} == set(rows)


def test_an_answer_comes_with_what_was_said_around_it_and_why_it_was_found() -> None:
    index = index_of(*TALK)
    best = found(index, "What did Ken say, when does it leave?")[0]
    assert best.row.id == "s1:4"
    assert best.why == ("neighbour", "speaker", "time")
    assert best.excerpt == (
        "花子: When does the train leave?\n"
        "Ken: On Friday, at nine in the morning.\n"
        "花子: Then we should be running, not walking."
    )


def test_thousands_of_rows_near_a_day_do_not_crowd_it_out() -> None:
    later = (line(n, f"x{n}", at=NOW + timedelta(days=2, seconds=n)) for n in range(2, 2_100))
    index = index_of(line(1, "灯台の光", at=NOW), *later)
    assert ids(index, f"{NOW:%Y-%m-%d}")[0] == "s1:1"


def test_an_inner_voice_between_two_speeches_does_not_part_them() -> None:
    index = index_of(
        line(1, "温泉はどこ?"),
        line(2, "考え中", kind=RowKind.INNER_VOICE, hearing=Hearing.PRIVATE),
        line(3, "島根です"),
    )
    assert ids(index, "温泉") == ["s1:1", "s1:3"]
    assert found(index, "温泉")[0].excerpt == "花子: 温泉はどこ?\n花子: 島根です"


def test_kept_things_and_other_sessions_are_no_neighbours() -> None:
    index = index_of(
        memory("m1", "温泉が好き"), line(1, "こんにちは"), line(2, "x", session_id="s2")
    )
    assert ids(index, "温泉") == ["memory:m1"]
    assert found(index, "温泉")[0].excerpt == "温泉が好き"


def test_an_excerpt_is_cut_and_tells_of_foreign_words_beside_it() -> None:
    index = index_of(line(1, "外の言葉" * 200, taint=True), line(2, "温泉"))
    answer = found(index, "温泉")[0]
    assert answer.taint
    assert not answer.row.taint
    assert len(answer.excerpt) < 320
    assert "…\n" in answer.excerpt


def test_a_neighbour_two_places_on_gets_its_share_though_the_one_between_is_left_out() -> None:
    index = index_of(
        line(1, "温泉はどこ?"),
        line(2, "ええと", speaker_id="p2", speaker="Ken"),
        line(3, "島根です"),
    )
    assert ids(index, "温泉", speaker="p1") == ["s1:1", "s1:3"]


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"session_id": "s2"}, ["s2:1"]),
        ({"session_id": "nobody"}, []),
        ({"kinds": frozenset({RowKind.MEMORY})}, ["memory:m1"]),
        ({"hearings": frozenset({Hearing.PUBLIC})}, ["s2:1"]),
        ({"speaker": "Ken"}, ["s2:1"]),
        ({"speaker": "p2"}, ["s2:1"]),
        ({"speaker": "Ke"}, []),
        ({"since": NOW}, ["memory:m1"]),
        ({"until": NOW - timedelta(days=2)}, ["s2:1"]),
        ({"before": ("s1", 1)}, ["memory:m1", "s2:1"]),
        ({"before": ("s1", 2)}, ["memory:m1", "s1:1", "s2:1"]),
        ({"limit": 0}, []),
        ({"session_id": "\ud800"}, []),
    ],
)
def test_filters_leave_out_everything_else(limits: dict[str, object], expected: list[str]) -> None:
    index = index_of(
        line(1, "温泉"),
        line(
            1,
            "温泉",
            session_id="s2",
            speaker_id="p2",
            speaker="Ken",
            hearing=Hearing.PUBLIC,
            at=NOW - timedelta(days=9),
        ),
        memory("m1", "温泉"),
    )
    assert sorted(ids(index, "温泉", **limits)) == expected


def test_the_question_just_asked_is_in_no_excerpt_either() -> None:
    index = index_of(line(1, "島根の温泉"), line(2, "温泉はどこ?"))
    assert found(index, "温泉", before=("s1", 2))[0].excerpt == "花子: 島根の温泉"


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t",
        '"',
        '""""',
        "*",
        "NEAR(",
        "NEAR(温泉 島根, 2)",
        "-x",
        "^温泉",
        "agent_id:a2",
        "text : x",
        "x AND",
        "OR OR OR",
        "(",
        "\0",
        "温泉\0島根",
        "\ud800",
        "温泉\udfff",
        "ｵﾝｾﾝ",
        "😀🦀",
        "あ" * 100_000,
        " ".join(f"w{n}" for n in range(20_000)),
        "'; DROP TABLE row; --",
        "温泉 hot-spring オンセン 온천 温泉🦀",
        "\U000e0001\u200b\u202e",
    ],
)
def test_odd_questions_get_a_clean_answer(text: str) -> None:
    index = index_of(*TALK, memory("m1", "x"))
    assert len(found(index, text)) <= 6
    assert ids(index, "温泉")[0] == "s1:2"


def test_emoji_and_signs_find_nothing() -> None:
    index = index_of(line(1, "🦀 🦀 !!"), line(2, "ｵﾝｾﾝ 🦀"))
    assert ids(index, "🦀") == []
    assert ids(index, "!!") == []
    assert ids(index, "オンセン")[0] == "s1:2"


def test_odd_texts_are_taken_as_well_as_they_can_be() -> None:
    index = index_of(
        line(1, "\ud800温泉"),
        line(2, 'a "quoted" OR -x* \0'),
        line(3, "字" * 50_000),
        line(4, "😀"),
    )
    assert index.rows() == 4
    assert found(index, "温泉")[0].row.text == "?温泉"
    assert ids(index, "quoted")[0] == "s1:2"


def test_with_many_terms_the_rarest_are_looked_for() -> None:
    filler = [f"w{n}" for n in range(60)]
    rows = [line(n, " ".join(filler), session_id=f"f{n}") for n in range(1, 4)]
    index = index_of(*rows, line(1, "needle"))
    assert ids(index, " ".join([*filler, "needle"]))[0] == "s1:1"


def test_among_more_equal_rows_than_are_ranked_the_newest_are_whatever_came_in_first() -> None:
    rows = tuple(line(1, "温泉", session_id=f"s{n:03d}", at=NOW + timedelta(n)) for n in range(300))
    forward, backward = index_of(*rows), index_of(*reversed(rows))
    answer = ids(forward, "温泉", limit=300)
    assert answer == ids(backward, "温泉", limit=300)
    assert answer == [f"s{n:03d}:1" for n in range(100, 300)]


def test_the_same_again_and_older_news_change_nothing() -> None:
    index = Index("a1", None)
    batch = Batch(rows=TALK, session_id="s1", last=5)
    assert index.take([batch], NOW) == 5
    seen = index.progress()
    assert index.take([batch, Batch(rows=TALK[:2], session_id="s1", last=2)], NOW) == 0
    assert index.take([], NOW - timedelta(days=1)) == 0
    assert index.progress() == seen == IndexProgress(lines={"s1": 5}, kept={}, mark="", at=NOW)
    index.take([Batch(kind="memory", last_id="b"), Batch(kind="memory", last_id="a")], NOW)
    index.take([mark(2), mark(1)], NOW)
    assert (index.progress().kept, index.progress().mark) == ({"memory": "b"}, "m002")


def test_a_batch_that_cannot_be_read_leaves_everything_as_it_was() -> None:
    index = index_of(*TALK)
    before = index.content(), index.progress()

    def broken() -> Iterator[Batch]:
        yield mark(1, lines=lines(1, 3))
        yield Batch(rows=(line(9, "新しい"),), session_id="s9", last=9)
        raise OSError("the table does not answer")

    with pytest.raises(OSError, match="does not answer"):
        index.take(broken(), NOW)
    assert (index.content(), index.progress()) == before
    assert index.take([Batch(rows=(line(2, "島根の温泉"), line(9, "新しい")))], NOW) == 1


def test_a_kept_thing_that_changed_is_found_by_its_new_words_only() -> None:
    index = index_of(memory("m1", "緑茶が好き"))
    index.update(memory("m1", "紅茶が好き"))
    assert ids(index, "緑茶が") == ids(index, "が好き")
    assert ids(index, "紅茶") == ["memory:m1"]
    assert index.content() == index_of(memory("m1", "紅茶が好き")).content()
    older = replace(memory("m1", "白茶が好き"), at=NOW - timedelta(days=1))
    assert index.take([Batch(rows=(older,))], NOW) == 0
    index.drop(RowKind.MEMORY, "m1")
    assert index.content() == index_of().content()
    index.drop(RowKind.MEMORY, "m1")
    index.update(memory("m2", "水"))
    assert index.rows() == 1


def test_marks_remove_what_they_name_and_keep_it_out() -> None:
    rows = (
        *TALK,
        line(2, "島根の温泉", session_id="s2"),
        memory("m1", "温泉"),
        memory("m2", "温泉"),
    )
    index = index_of(*rows)
    named = mark(1, lines=(*lines(2, 3), *lines(9, 9)), refs=("memory:m1", "node:m2", "odd"))
    assert index.take([named], NOW) == 3
    left = index_of(TALK[0], *TALK[3:], rows[5], rows[7])
    assert index.content() == left.content()
    assert index.take([Batch(rows=rows), named], NOW) == 0
    index.update(memory("m1", "温泉"))
    assert index.content() == left.content()


def test_forgetting_everything_leaves_what_came_later() -> None:
    later = line(9, "温泉", at=NOW + timedelta(seconds=1))
    index = index_of(*TALK, memory("m1", "温泉"))
    everything = mark(1, scope=ErasureScope.EVERYTHING, everything=True)
    assert index.take([everything, Batch(rows=(later, *TALK))], NOW) == 7
    assert index.content() == index_of(later).content()


def test_no_byte_of_what_was_forgotten_is_left_in_the_file(tmp_path: Path) -> None:
    secret = "合言葉は紫陽花 hydrangeas"
    others = tuple(line(n, f"別の話 {n}", speaker="Ken") for n in range(2, 300))
    with_secret = (line(1, secret, speaker="秘密の人", speaker_id="person-7"), *others)
    index = Index("a1", tmp_path / "index")
    for row in with_secret:
        index.take([Batch(rows=(row,))], NOW)
    needles = [
        "紫陽花",
        "紫陽",
        "hydrangea",
        "秘密の人",
        "person-7",
        *index_terms_of_text("合言葉は紫陽花"),
    ]
    index.take([mark(1, lines=lines(1, 1))], NOW)
    index.save(tmp_path / "copy")
    index.vacuum()
    for name in ("index", "copy"):
        content = (tmp_path / name).read_bytes()
        assert "別の".encode() in content
        assert [needle for needle in needles if needle.encode() in content] == []
    assert sorted(each.name for each in tmp_path.iterdir()) == ["copy", "index"]
    index.close()


def test_a_copy_is_whole_and_goes_on_where_the_original_was(tmp_path: Path) -> None:
    index = Index("a1", tmp_path / "index")
    index.take([Batch(rows=TALK, session_id="s1", last=5), mark(1, lines=lines(2, 2))], NOW)
    index.save(tmp_path / "copy")
    copy = Index("a1", tmp_path / "copy")
    assert (copy.content(), copy.progress()) == (index.content(), index.progress())
    assert copy.take([Batch(rows=TALK)], NOW) == 0
    assert copy.size() == (tmp_path / "copy").stat().st_size
    index.close()
    copy.close()


def _say(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA writable_schema=ON")
    if "words_data" in statement:
        statement = "DELETE FROM sqlite_master WHERE name='words_data'"
    connection.execute(statement)
    connection.commit()
    connection.close()


def _overwrite(path: Path) -> None:
    content = bytearray(path.read_bytes())
    for at in range(4096, len(content), 4096):
        content[at : at + 64] = b"\xa5" * 64
    path.write_bytes(content)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that can be trusted."""
    path = tmp_path_factory.mktemp("sound") / "index"
    index = Index("a1", path)
    index.take([Batch(rows=tuple(line(n, f"温泉 {n}") for n in range(1, 200)))], NOW)
    index.close()
    return path


@pytest.mark.parametrize(
    ("harm", "why"),
    [
        (lambda path: path.write_bytes(b""), "not a database"),
        (lambda path: path.write_bytes(b"hello" * 100), "not a database"),
        (lambda path: path.write_bytes(path.read_bytes()[:-4096]), "is truncated"),
        (lambda path: path.write_bytes(path.read_bytes()[:50]), "not a database"),
        (lambda path: _say(path, "PRAGMA user_version=99"), "version is 99, not 2"),
        (lambda path: _say(path, "PRAGMA application_id=1"), "index version is"),
        (
            lambda path: _say(path, "UPDATE about SET value='a2' WHERE key='agent'"),
            "an agent other",
        ),
        (
            lambda path: _say(path, "UPDATE about SET value='1' WHERE key='tokenizer'"),
            "tokenizer 1",
        ),
        (lambda path: _say(path, "DROP TABLE about"), "about"),
        (lambda path: _say(path, "DROP TABLE words_data"), "words"),
        (_overwrite, "damaged"),
    ],
)
def test_a_file_that_cannot_be_trusted_is_refused(
    sound: Path, tmp_path: Path, harm: object, why: str
) -> None:
    path = tmp_path / "index"
    path.write_bytes(sound.read_bytes())
    assert callable(harm)
    harm(path)
    with pytest.raises(DamagedIndex, match=why):
        Index("a1", path)
