"""Search over REST: words, filters and refusals, in both languages, for owners and chat keys."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.rest.house import House, problem
from tests.integration.rest.remembering import found, remembering, texts

MOVE = "来月、京都に引っ越します。"
RUNNING = "I ran a marathon in Lisbon last spring."
HOSTILE = [
    '"',
    "*",
    '" OR "',
    "NEAR(京都 引っ越し)",
    "-京都",
    "京都*",
    "agent_id:x",
    "speaker_id:京都 OR text:*",
    "a AND b OR NOT c",
    "'; DROP TABLE row; --",
    "ﾊﾝｶｸ ｶﾅ",
    "京都 Kyoto キョウト 쿄토 Киото",
    "🦀👩‍👩‍👧‍👦",
    "\u200b\u202e\ufeff",
    "x " * 2_000,
    "漢" * 4_000,
    "(" * 3_000,
]


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[House, str, str]]:
    """An agent with a conversation in two languages."""
    with remembering(tmp_path_factory.mktemp("town")) as house:
        agent = house.agent("さくら")
        session = house.session(agent)
        for name, text in (("美香", MOVE), ("Ren", RUNNING), ("美香", "荷造りが大変です。")):
            house.made(f"/sessions/{session}/messages", {"text": text, "sender_name": name})
        yield house, agent, session


def path_of(agent: str) -> str:
    return f"/agents/{agent}/memory/search"


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("いつ京都に引っ越すと言っていましたか?", MOVE),
        ("ﾘｽﾎﾞﾝ Lisbon", RUNNING),
        ("Where did Ren run a marathon?", RUNNING),
        ("荷造り", "荷造りが大変です。"),
        ("天気は?\nWhere is Lisbon?", RUNNING),
    ],
)
def test_what_was_said_is_found_by_words_and_by_whole_questions(
    town: tuple[House, str, str], query: str, first: str
) -> None:
    house, agent, session = town
    best = found(house, agent, query)[0]
    assert best["text"] == first
    assert best["id"] == f"{session}:{best['sequence']}"
    assert (best["kind"], best["session_id"], best["hearing"]) == ("speech", session, "session")
    assert first in best["excerpt"]
    assert best["score"] > 0
    assert "words" in best["why"]


@pytest.mark.parametrize(
    ("query", "speakers"),
    [("Ren", {"Ren"}), ("今日の美香は?", {"Ren", "美香"}), ("1 Jan 2020", set())],
)
def test_a_name_or_a_time_alone_finds_what_was_said(
    town: tuple[House, str, str], query: str, speakers: set[str]
) -> None:
    house, agent, _ = town
    hits = [each for each in found(house, agent, query) if each["speaker"] in {"Ren", "美香"}]
    assert {each["speaker"] for each in hits} == speakers
    assert all({"speaker", "date"} & set(each["why"]) for each in hits)


@pytest.mark.parametrize("query", ["京都", "Lisbon"])
def test_a_chat_key_is_told_no_scores(town: tuple[House, str, str], query: str) -> None:
    house = town[0]
    agent = house.agent("Ada")
    session = house.session(agent)
    said = {"text": f"{query} is 素敵", "sender_name": "客"}
    house.made(f"/sessions/{session}/messages", said, key=house.chat)
    heard = found(house, agent, query, key=house.chat)
    assert heard
    assert {each["score"] for each in heard} == {None}
    assert all(each["score"] > 0 for each in found(house, agent, query))


def test_an_excerpt_has_what_was_said_before_and_after(town: tuple[House, str, str]) -> None:
    house, agent, _ = town
    excerpt = found(house, agent, "Lisbon marathon")[0]["excerpt"]
    assert excerpt.splitlines() == [
        f"美香: {MOVE}",
        f"Ren: {RUNNING}",
        "美香: 荷造りが大変です。",
    ]


def test_filters_leave_out_what_was_not_asked_for(town: tuple[House, str, str]) -> None:
    house, agent, session = town
    query = "京都 Lisbon 荷造り"
    everything = set(texts(house, agent, query))
    assert {MOVE, RUNNING} <= everything
    assert set(texts(house, agent, query, speaker="Ren")) == {RUNNING}
    assert set(texts(house, agent, query, session_id=session)) == everything
    assert texts(house, agent, query, kinds=["memory", "summary"]) == []
    assert set(texts(house, agent, query, kinds=["speech"])) == everything
    assert texts(house, agent, query, hearings=["public"]) == []
    assert texts(house, agent, query, since="2999-01-01T00:00:00Z") == []
    assert texts(house, agent, query, until="2001-01-01T00:00:00+09:00") == []
    assert len(texts(house, agent, query, limit=1)) == 1


@pytest.mark.parametrize("query", HOSTILE)
def test_no_words_break_the_search(town: tuple[House, str, str], query: str) -> None:
    house, agent, _ = town
    for key in (house.owner, house.chat):
        answer = house.call("POST", path_of(agent), {"query": query}, key=key)
        assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"query": ""}, "query"),
        ({"query": " \n　"}, "query"),
        ({"query": "a\0b"}, "query"),
        ({"query": 5}, "query"),
        ({"query": None}, "query"),
        ({"query": "x" * 4_001}, "query"),
        ({"query": "京都 " * 20_000}, "query"),
        ({"limit": 0}, "limit"),
        ({"limit": 51}, "limit"),
        ({"limit": "10"}, "limit"),
        ({"kinds": ["everything"]}, "kinds.0"),
        ({"kinds": "speech"}, "kinds"),
        ({"kinds": ["speech"] * 7}, "kinds"),
        ({"hearings": ["all"]}, "hearings.0"),
        ({"speaker": ""}, "speaker"),
        ({"speaker": "a\nb"}, "speaker"),
        ({"session_id": "a b"}, "session_id"),
        ({"since": "yesterday"}, "since"),
        ({"since": "2026-01-01T00:00:00"}, "since"),
        ({"since": "2026-01-01"}, "since"),
        ({"since": "0001-01-01T00:00:00+14:00"}, "since"),
        ({"until": "9999-12-31T23:59:59-12:00"}, "until"),
        ({"until": 5}, "until"),
        ({"agent_id": "x"}, "agent_id"),
    ],
)
def test_a_search_that_makes_no_sense_names_its_field(
    town: tuple[House, str, str], change: dict[str, Any], field: str
) -> None:
    house, agent, _ = town
    told = problem(house.call("POST", path_of(agent), {"query": "x", **change}), 422, field)
    assert told["cure"]


def test_a_search_that_ends_before_it_begins_is_refused(town: tuple[House, str, str]) -> None:
    house, agent, _ = town
    body = {"query": "x", "since": "2026-02-01T00:00:00Z", "until": "2026-01-01T00:00:00Z"}
    assert problem(house.call("POST", path_of(agent), body), 422)["cure"] == "swap them"


def test_a_hundred_kilobytes_and_half_characters_are_refused(
    town: tuple[House, str, str],
) -> None:
    house, agent, _ = town
    problem(house.call("POST", path_of(agent), {"query": "x" * 100_000}), 422, "query")
    sent = {"headers": {"Content-Type": "application/json"}}
    half = house.call("POST", path_of(agent), content=b'{"query": "\\ud83e"}', **sent)
    problem(half, 422, "body")


def test_a_reader_searches_nothing_and_nobody_is_not_found(town: tuple[House, str, str]) -> None:
    house, agent, _ = town
    problem(house.call("POST", path_of(agent), {"query": "x"}, key=house.read), 403)
    problem(house.call("POST", path_of("nobody"), {"query": "x"}), 404)


def test_a_session_of_another_agent_is_not_there(town: tuple[House, str, str]) -> None:
    house, _, session = town
    other = house.agent("Ada")
    for key in (house.owner, house.chat):
        for named in (session, "nothing"):
            body = {"query": "京都", "session_id": named}
            problem(house.call("POST", path_of(other), body, key=key), 404, "session_id")
    assert texts(house, other, "京都") == []
