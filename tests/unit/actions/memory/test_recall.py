"""Searching one's past, remembering and forgetting, in Japanese and English."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from pydantic import ValidationError

from opencrab.actions.memory import recall
from opencrab.actions.workspace.provenance import is_foreign_workspace_file
from opencrab.domain.access.authority import Authority
from opencrab.domain.access.session_access import SESSION_ACCESS, SessionAccess
from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.conversation.message import Audience
from opencrab.domain.document import INSTALLATION_FACTS, new_fact
from opencrab.domain.learning.settings import TrialSettings
from opencrab.domain.memory.memory import MEMORY, Memory, Provenance
from opencrab.domain.turn.action import FileWritten, MemoriesFound
from opencrab.ports.turn.action import PAGED_BYTES
from tests.unit.actions.knowing import REGISTRY, Desk, desk


@pytest.fixture
def mika(tmp_path: Path) -> Iterator[Desk]:
    """Mika's place."""
    with desk(tmp_path) as place:
        yield place


def share(mika: Desk, session_id: str, *members: str) -> None:
    """Share a session with these people and nobody else."""
    fact = mika.home.facts.get(INSTALLATION_FACTS, SESSION_ACCESS, session_id)
    access = SessionAccess(members=members)
    fresh = new_fact(INSTALLATION_FACTS, SESSION_ACCESS, session_id, access)
    mika.home.facts.commit(fresh if fact is None else fact.with_body(access))
    mika.at = replace(mika.at, reach=replace(mika.at.reach, sessions=mika.home.sessions))


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
    assert found["query"] == query
    row = found["results"][0]
    assert (row["id"], row["kind"], row["session_id"]) == ("s1:2", "speech", "s1")
    assert (row["speaker"], row["why"], row["score"] > 0) == ("太郎", ["words"], True)
    assert row["excerpt"] == f"太郎: 今日は良い天気 / a fine day\n太郎: {said}"
    assert "memory_id" not in row


@pytest.mark.parametrize(
    "query", ["どこで蟹を買った?\nx\ny\ny\n誰と灯台?\nz", "Where is crab sold?\n\nWho saw light?\n"]
)
def test_several_questions_are_searched_in_one_call(mika: Desk, query: str) -> None:
    for number in range(12):
        mika.hear(f"蟹の話 crab talk {number}")
    mika.hear("灯台へ次郎と / Jiro saw the light")
    mika.hear("蟹は市場で買った / crab is sold there")
    found = mika.data("search_my_history", query=query, limit=2)
    texts = " ".join(each["excerpt"] for each in found["results"])
    assert "灯台へ" in texts and "市場で" in texts  # noqa: PT018 - both, in any order


def test_a_time_in_a_question_is_on_the_agents_clock(mika: Desk) -> None:
    mika.at = replace(mika.at, reach=replace(mika.at.reach, time_zone="Asia/Tokyo"))
    mika.hear("灯台の話")
    today = f"{mika.at.clock.now().astimezone(ZoneInfo('Asia/Tokyo')):%Y-%m-%d}"
    found = mika.data("search_my_history", query=f"{today} に何を聞いた?")
    assert found["results"][0]["why"][-1] == "date"
    assert mika.data("search_my_history", query="2020年1月1日に何を聞いた?")["count"] == 0


@pytest.mark.parametrize(
    ("content", "query"), [("太郎さんは緑茶が好き", "緑茶"), ("Taro likes green tea", "tea")]
)
def test_a_memory_is_found_by_its_id_and_gone_once_forgotten(
    mika: Desk, content: str, query: str
) -> None:
    saved = mika.data("save_memory", category="preference", content=content)
    (row,) = mika.data("search_my_history", query=query)["results"]
    assert (row["kind"], row["excerpt"], row["category"]) == ("memory", content, "preference")
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
    for _ in range(5):
        mika.hear("nothing of the kind")
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
    assert [row["excerpt"] for row in found["results"]] == ["太郎: 合言葉は川だと皆に言う"]
    for action in ("save_memory", "forget_memory", "summarize_and_save"):
        listed = mika.at.actions.allowed(mika.at.agent, mika.at.reach.models.routing, authority)
        assert action not in {each.name for each in listed}


@pytest.mark.parametrize("authority", [Authority.OWNER, Authority.SELF])
def test_the_owner_and_the_agent_itself_find_every_conversation(
    mika: Desk, authority: Authority
) -> None:
    mika.hear("秘密の話", session_id="s2")
    mika.on_behalf_of(authority)
    (row,) = mika.data("search_my_history", query="秘密")["results"]
    assert (row["session_id"], row["excerpt"]) == ("s2", "太郎: 秘密の話")
    assert mika.data("search_my_history", query="秘密", session_id="s1")["count"] == 0
    assert mika.data("search_my_history", query="秘密", session_id="s2")["count"] == 1
    assert mika.data("search_my_history", query="秘密", session_id="nobody's")["count"] == 0


@pytest.mark.parametrize(("asks", "count"), [("taro", 1), ("ken", 0)])
def test_a_user_finds_the_conversations_that_the_user_spoke_in(
    mika: Desk, asks: str, count: int
) -> None:
    mika.hear("秘密の話", session_id="s2", authority=Authority.USER)
    share(mika, "s2", "taro", "ken")
    mika.data("save_memory", category="fact", content="秘密の話は蟹のこと")
    mika.on_behalf_of(Authority.USER, person=asks)
    assert mika.data("search_my_history", query="秘密")["count"] == count
    mika.on_behalf_of(Authority.PUBLIC, person=asks)
    assert mika.data("search_my_history", query="秘密")["count"] == 0


@pytest.mark.parametrize(
    ("secret", "question"), [("秘密の話", "秘密"), ("a secret talk", "secret")]
)
def test_who_was_uninvited_finds_nothing_that_was_said_since(
    mika: Desk, secret: str, question: str
) -> None:
    share(mika, "s2", "taro")
    mika.hear("やあ hello", session_id="s2", authority=Authority.USER)
    mika.on_behalf_of(Authority.USER, person="taro")
    share(mika, "s2")
    mika.hear(secret, session_id="s2", authority=Authority.USER, speaker_id="ken")
    assert mika.data("search_my_history", query=question)["count"] == 0
    share(mika, "s2", "taro")
    found = mika.data("search_my_history", query=question)["results"]
    assert any(secret in row["excerpt"] for row in found)


def test_a_turn_does_not_find_the_question_it_was_asked(mika: Desk) -> None:
    mika.hear("蟹はどこ")
    mika.hear("蟹はどこだっけ?")
    mika.at = replace(mika.at, turn=mika.at.turn.replaced(trigger_line=2))
    found = mika.data("search_my_history", query="蟹はどこだっけ?")["results"]
    assert [row["id"] for row in found] == ["s1:1"]


def test_what_is_searched_can_be_narrowed(mika: Desk) -> None:
    mika.hear("蟹の話")
    mika.hear("蟹の唄", speaker_id="hanako", speaker_name="花子")
    mika.data("save_memory", category="fact", content="蟹は横に歩く")

    def found(**narrow: Any) -> list[str]:
        rows = mika.data("search_my_history", query="蟹", **narrow)["results"]
        return sorted(row["kind"] + row.get("speaker", "") for row in rows)

    assert found() == ["memory", "speech太郎", "speech花子"]
    assert found(kind="Memory") == ["memory"]
    assert found(speaker="花子", kind="speech") == found(speaker="hanako") == ["speech花子"]
    assert found(until="2026-02-16") == found(since="2026-02-18") == []
    assert len(found(since="2026-02-17", until="2026-02-17")) == 3
    assert found(since="2026-02-17T09:00:02+00:00", kind="memory") == ["memory"]


@pytest.mark.parametrize(
    ("narrow", "field"),
    [
        ({"kind": "貝"}, "kind"),
        ({"since": "昨日"}, "since"),
        ({"until": "2026-13-01"}, "until"),
        ({"until": "9999-12-31"}, "until"),
        ({"since": "0001-01-01T00:00:00+23:00"}, "since"),
    ],
)
def test_what_cannot_be_meant_is_answered_with_a_cure(
    mika: Desk, narrow: dict[str, str], field: str
) -> None:
    result = mika.do("search_my_history", query="蟹", **narrow)
    assert not result.success
    assert field in str(result.error)
    assert ": " in str(result.error)


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
    assert 5 < len(found) < 20
    assert all(len(row["excerpt"]) == recall.SHOWN_CHARACTERS for row in found)
    assert len(json.dumps(found, ensure_ascii=False).encode()) <= PAGED_BYTES


@pytest.mark.parametrize(("text", "asked"), [('"海 ', "海"), ('sea "\n\\ ', "sea")])
def test_what_is_found_fits_whatever_json_makes_of_it(mika: Desk, text: str, asked: str) -> None:
    for _ in range(30):
        mika.hear(text * 60)
        mika.data(
            "save_memory",
            category="fact",
            content=mika.clock.new_id() + text.replace("\n", "") * 20,
        )
    query = asked + " " + "\u0001" * 3_990
    found = mika.data("search_my_history", query=query, limit=50)
    assert len(json.dumps(found, ensure_ascii=False).encode()) <= PAGED_BYTES


@pytest.mark.parametrize("text", ["蟹の話", "talk of a crab"])
@pytest.mark.parametrize("authority", Authority)
def test_only_who_hears_everything_is_told_scores(
    mika: Desk, authority: Authority, text: str
) -> None:
    mika.hear(text)
    mika.on_behalf_of(authority)
    (row,) = mika.data("search_my_history", query=text)["results"]
    assert ("score" in row) is (authority in {Authority.OWNER, Authority.SELF})


def test_nobody_speaks_for_another_in_an_excerpt(mika: Desk) -> None:
    mika.hear("蟹 crab\n太郎: はい " + "crab " * 200)
    (row,) = mika.data("search_my_history", query="crab")["results"]
    assert len(row["excerpt"].splitlines()) == 1


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
    assert not is_foreign_workspace_file(info)
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
    assert is_foreign_workspace_file(info)


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


def test_the_coin_takes_memories_from_a_search_and_nothing_else(mika: Desk) -> None:
    memory = mika.data("save_memory", category="fact", content="蟹は横に歩く")["memory_id"]
    mika.hear("蟹を見たよ / I saw a crab")
    mika.at = replace(mika.at, trials=TrialSettings(memory_percent=50))
    seen = dict[bool, tuple[MemoriesFound, list[str]]]()
    for n in range(6):
        mika.at = replace(mika.at, turn=mika.at.turn.replaced(id=f"turn{n}"))
        result = mika.do("search_my_history", query="蟹")
        (effect,) = result.side_effects
        assert isinstance(effect, MemoriesFound)
        assert effect.could_hide
        shown = [row["kind"] for row in (result.data or {})["results"]]
        assert seen.setdefault(effect.hidden, (effect, shown)) == (effect, shown)
        explicit = mika.do("search_my_history", query="蟹", kind="memory")
        assert explicit.side_effects == (MemoriesFound(ids=(memory,)),)
        assert mika.do("search_my_history", query="見た").side_effects == ()
    assert sorted(seen[False][1]) == ["memory", "speech"]
    assert seen[False][0].ids == (memory,)
    assert seen[True] == (MemoriesFound(hidden=True, could_hide=True), ["speech"])
    pinned = AgentState(pinned=("memories:search",))
    for ended in (
        replace(mika.at, trials=TrialSettings(memory_percent=0)),
        replace(mika.at, mind=pinned),
    ):
        for n in range(6):
            mika.at = replace(ended, turn=ended.turn.replaced(id=f"turn{n}"))
            result = mika.do("search_my_history", query="蟹")
            assert result.side_effects == (MemoriesFound(ids=(memory,)),)
            assert len((result.data or {})["results"]) == 2


@pytest.mark.parametrize("content", ["蟹は横に歩く", "Crabs walk sideways"])
def test_what_an_owner_put_in_is_found_in_every_turn(mika: Desk, content: str) -> None:
    memory = mika.data("save_memory", category="fact", content=content)["memory_id"]
    fact = mika.home.facts.get("mika", MEMORY, memory)
    assert fact is not None
    owners = fact.read(Memory).replaced(provenance=Provenance.OWNER, session_id="")
    mika.home.facts.commit(fact.with_body(owners))
    mika.at = replace(mika.at, trials=TrialSettings(memory_percent=50))
    for n in range(6):
        mika.at = replace(mika.at, turn=mika.at.turn.replaced(id=f"turn{n}"))
        result = mika.do("search_my_history", query=content)
        assert result.side_effects == (MemoriesFound(ids=(memory,)),)
