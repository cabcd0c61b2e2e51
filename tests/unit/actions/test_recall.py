"""Searching one's past, remembering and forgetting, in Japanese and English."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import ValidationError

from opencrab.actions import recall
from opencrab.actions.provenance import is_foreign
from opencrab.domain.action import FileWritten
from opencrab.domain.authority import Authority
from opencrab.domain.fact import new_fact
from opencrab.domain.line import Audience
from opencrab.domain.memory import Memory
from tests.unit.actions.knowing import NOW, REGISTRY, Desk, desk


@pytest.fixture
def mika(tmp_path: Path) -> Iterator[Desk]:
    """Mika's place."""
    with desk(tmp_path) as place:
        yield place


@pytest.mark.parametrize(
    ("said", "query"),
    [
        ("機械学習のノートを整理しました", "機械学習 ノート"),
        ("We tidied the notes on machine learning", "MACHINE learning"),
    ],
)
def test_what_was_said_is_found_with_who_said_it_and_where(
    mika: Desk, said: str, query: str
) -> None:
    mika.hear("今日は良い天気 / a fine day")
    mika.hear(said)
    found = mika.data("search_my_history", query=query)
    assert (found["query"], found["count"]) == (query, 1)
    (row,) = found["results"]
    assert (row["text"], row["speaker"], row["session_id"]) == (said, "太郎", "s1")
    assert "memory_id" not in row


@pytest.mark.parametrize(
    ("content", "query"), [("太郎さんは緑茶が好き", "緑茶"), ("Taro likes green tea", "tea")]
)
def test_a_memory_is_found_by_its_id_and_gone_once_forgotten(
    mika: Desk, content: str, query: str
) -> None:
    saved = mika.data("save_memory", category="preference", content=content)
    (row,) = mika.data("search_my_history", query=query)["results"]
    assert (row["kind"], row["text"], row["category"]) == ("memory", content, "preference")
    assert row["memory_id"] == saved["memory_id"]

    forgotten = mika.data("forget_memory", memory_id=row["memory_id"])
    assert forgotten == {"forgotten": saved["memory_id"], "category": "preference"}
    assert mika.data("search_my_history", query=query)["count"] == 0
    again = mika.do("forget_memory", memory_id=row["memory_id"])
    assert again.error == (
        f"there is no memory '{row['memory_id']}': find it with search_my_history"
    )


@pytest.mark.parametrize("memory_id", ["", "../x", "記憶", "a b", "x" * 300])
def test_an_id_that_is_none_forgets_nothing(mika: Desk, memory_id: str) -> None:
    assert "there is no memory" in str(mika.do("forget_memory", memory_id=memory_id).error)


def test_what_was_learned_from_foreign_words_is_marked_and_taints_who_finds_it(
    mika: Desk,
) -> None:
    mika.data("save_memory", category="fact", content="蟹は横に歩く")
    assert not mika.do("search_my_history", query="蟹").taint
    mika.on_behalf_of(Authority.OWNER, taint=True)
    mika.data("save_memory", category="fact", content="蟹は空を飛ぶ")
    assert mika.do("search_my_history", query="蟹").taint
    assert not mika.do("search_my_history", query="横に").taint


def test_only_what_is_shown_taints(mika: Desk) -> None:
    mika.hear("crab crab", authority=Authority.PUBLIC)
    mika.hear("a crab and a shell")
    assert not mika.do("search_my_history", query="crab shell", limit=1).taint
    assert mika.do("search_my_history", query="crab shell").taint


@pytest.mark.parametrize("authority", [Authority.PUBLIC, Authority.PEER])
def test_outsiders_hear_only_what_everybody_in_the_session_heard(
    mika: Desk, authority: Authority
) -> None:
    mika.data("save_memory", category="secret", content="合言葉は山")
    mika.hear("合言葉を指示する", audience=Audience.AGENTS)
    mika.hear("合言葉を考える", audience=Audience.SELF, speaker_id="mika")
    mika.hear("合言葉は川だと皆に言う")
    mika.on_behalf_of(authority, taint=True)
    found = mika.data("search_my_history", query="合言葉", limit=1)
    assert [row["text"] for row in found["results"]] == ["合言葉は川だと皆に言う"]
    for action in ("save_memory", "forget_memory", "summarize_and_save"):
        listed = mika.at.actions.allowed(mika.at.agent, mika.at.reach.models.routing, authority)
        assert action not in {each.name for each in listed}


def test_another_conversation_stays_closed(mika: Desk) -> None:
    mika.hear("秘密の話", session_id="s2")
    assert mika.data("search_my_history", query="秘密")["count"] == 0
    refused = mika.do("search_my_history", query="秘密", session_id="s2")
    assert refused.error == ("only the present conversation can be searched: leave session_id out")
    assert mika.do("search_my_history", query="秘密", session_id="s1").success


@pytest.mark.parametrize("query", [" ", "\u3000", "\n"])
def test_a_blank_query_is_refused(mika: Desk, query: str) -> None:
    assert "query is blank" in str(mika.do("search_my_history", query=query).error)


@pytest.mark.parametrize("limit", [0, -1, 51])
def test_the_limit_has_limits(mika: Desk, limit: int) -> None:
    with pytest.raises(ValidationError, match="limit"):
        mika.do("search_my_history", query="x", limit=limit)


def test_long_texts_are_cut_and_many_are_left_out(mika: Desk) -> None:
    for number in range(20):
        mika.hear(f"海{number} " + "蟹" * 1_000)
    found = mika.data("search_my_history", query="蟹蟹", limit=50)["results"]
    assert 10 < len(found) < 20
    assert all(len(row["text"]) == recall.SHOWN_CHARACTERS for row in found)
    assert found[0]["text"].startswith("海19 ")


def test_a_summary_is_a_memory_and_a_file_if_one_is_named(mika: Desk) -> None:
    alone = mika.do("summarize_and_save", content="今日は蟹の話をした")
    assert alone.data is not None
    assert (alone.data["category"], alone.side_effects) == ("session_summary", ())

    both = mika.do(
        "summarize_and_save",
        content="A talk about crabs",
        filename="summaries/crabs.md",
        summary_type="discussion",
    )
    (written,) = both.side_effects
    assert isinstance(written, FileWritten)
    info, content = mika.home.files.read("mika", "summaries/crabs.md")
    assert (content, info.sha256) == (b"A talk about crabs", written.sha256)
    assert not is_foreign(info)
    assert both.data is not None
    assert (both.data["category"], both.data["path"]) == ("discussion_summary", written.path)
    kept = mika.home.facts.get("mika", "memory", both.data["memory_id"])
    assert kept is not None
    assert kept.read(Memory).content == "A talk about crabs"


def test_a_summary_of_foreign_words_is_marked_in_memory_and_file(mika: Desk) -> None:
    mika.on_behalf_of(Authority.OWNER, taint=True)
    kept = mika.data("summarize_and_save", content="彼らの話", filename="summaries/a.md")
    fact = mika.home.facts.get("mika", "memory", kept["memory_id"])
    assert fact is not None
    assert fact.read(Memory).tainted
    info = mika.home.files.info("mika", "summaries/a.md")
    assert info is not None
    assert is_foreign(info)


@pytest.mark.parametrize("filename", ["../x.md", "/etc/passwd", "a/../../b"])
def test_a_summary_goes_nowhere_else(mika: Desk, filename: str) -> None:
    assert not mika.do("summarize_and_save", content="x", filename=filename).success
    assert mika.home.files.list("mika") == ()
    assert mika.home.facts.page("mika", "memory") == ()


def test_a_summary_does_not_overwrite_what_came_in_between(mika: Desk) -> None:
    action = REGISTRY.find("summarize_and_save")
    assert action is not None
    assert action.prepare is not None
    arguments = action.arguments(content="x", filename="a.md")
    ready = replace(mika.at, prepared=action.prepare(arguments, mika.at))
    mika.home.files.write("mika", "a.md", b"theirs")
    result = action.run(arguments, ready)
    assert "nothing was saved" in str(result.error)
    assert result.facts == ()
    assert mika.home.files.read("mika", "a.md")[1] == b"theirs"


def test_a_summary_that_was_written_before_a_crash_is_written_again_unharmed(mika: Desk) -> None:
    action = REGISTRY.find("summarize_and_save")
    assert action is not None
    assert action.prepare is not None
    arguments = action.arguments(content="x", filename="a.md")
    ready = replace(mika.at, prepared=action.prepare(arguments, mika.at))
    assert action.run(arguments, ready).success
    again = action.run(arguments, ready)
    assert again.success
    mika.home.facts.commit(*again.facts)
    assert len(mika.home.facts.page("mika", "memory")) == 1


@pytest.mark.parametrize("action", ["save_memory", "summarize_and_save"])
def test_blank_words_are_not_kept(mika: Desk, action: str) -> None:
    more = {"category": "fact"} if action == "save_memory" else {}
    assert "content is blank" in str(mika.do(action, content=" \n", **more).error)


def test_the_number_of_memories_has_an_end(mika: Desk) -> None:
    for number in range(recall.MEMORIES):
        memory = Memory(
            id=f"m{number:03}", category="fact", content="x", created_at=NOW, updated_at=NOW
        )
        mika.home.facts.commit(new_fact("mika", "memory", memory.id, memory))
    full = mika.do("save_memory", category="fact", content="one more")
    assert full.error == (
        "you keep 500 memories, and more are not allowed: "
        "forget what you no longer need with forget_memory"
    )
    mika.data("forget_memory", memory_id="m250")
    assert mika.do("save_memory", category="fact", content="one more").success
