"""An agent's past over REST: its conversations, and what it made of them; the owner's to read."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from opencrab.adapters.providers.scripted.script import ScriptedAnswer, ScriptedCall
from opencrab.domain.document import new_fact
from opencrab.domain.memory.knowledge_graph import EDGE, NODE, KnowledgeEdge, KnowledgeNode
from opencrab.domain.memory.memory import (
    EXPERIENCE,
    IMPRESSION,
    Experience,
    Impression,
    SessionImpression,
)
from opencrab.domain.memory.summary import (
    SUMMARY,
    Summary,
    SummarySource,
    SummarySpan,
    memory_summary_document_id,
)
from opencrab.domain.outcome import Outcome
from tests.integration.rest.house import House, problem

NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)
SAID = ["京都に引っ越します", "Which street?", "四条通りです", "Good.", "また明日"]


def keep(house: House, agent: str, kind: str, fact_id: str, value: Any) -> None:
    """A fact of the agent's, as a turn leaves it."""
    house.runtime.home.facts.commit(new_fact(agent, kind, fact_id, value))


def walked(house: House, path: str, size: int, part: str = "items") -> list[Any]:
    """Everything in a list, page after page."""
    seen, query = list[Any](), f"?limit={size}"
    while query:
        page = house.got(f"{path}{query}")
        seen += page[part]
        query = f"?limit={size}&cursor={page['next_cursor']}" if page["next_cursor"] else ""
    return seen


@pytest.fixture
def talked(house: House) -> tuple[House, str, str]:
    """An agent with a conversation that it kept silent in."""
    agent = house.agent("さくら")
    session = house.session(agent)
    for text in SAID:
        house.say(session, text)
    return house, agent, session


def test_sessions_are_listed_with_their_sizes(talked: tuple[House, str, str]) -> None:
    house, agent, session = talked
    other = house.session(house.agent("Ada"))
    shared = house.session(agent, house.agent("Bob"))
    path = f"/agents/{agent}/memory/sessions"
    listed = {log["id"]: log for log in house.got(path)["items"]}
    assert set(listed) == {session, shared}
    assert other not in listed
    assert (listed[session]["lines"], listed[shared]["lines"]) == (len(SAID), 0)
    assert listed[session]["hearing"] == "session"
    assert listed[session]["last_at"] >= listed[session]["created_at"]
    assert listed[shared]["last_at"] is None
    assert [log["id"] for log in walked(house, path, 1)] == sorted(listed)


def test_a_log_is_read_in_both_directions_and_by_its_numbers(
    talked: tuple[House, str, str],
) -> None:
    house, agent, session = talked
    path = f"/agents/{agent}/memory/sessions/{session}"

    def texts(query: str = "") -> list[str]:
        return [line["text"] for line in house.got(f"{path}?{query}")["items"]]

    assert texts() == SAID
    assert texts("order=newest") == SAID[::-1]
    assert texts("first=2&last=4") == SAID[1:4]
    assert texts("first=2&last=4&order=newest") == SAID[1:4][::-1]
    assert texts("first=6") == texts("first=4&last=3") == []
    for order, wanted in (("oldest", SAID[1:]), ("newest", SAID[:0:-1])):
        seen, query = list[str](), f"?order={order}&first=2&limit=2"
        while query:
            page = house.got(f"{path}{query}")
            seen += [line["text"] for line in page["items"]]
            cursor = page["next_cursor"]
            query = f"?order={order}&first=2&limit=2&cursor={cursor}" if cursor else ""
        assert seen == wanted


def test_a_log_has_the_agents_own_thoughts_and_nobody_elses(house: House) -> None:
    agents = [house.agent("Mika"), house.agent("Ren")]
    session = house.session(*agents)
    house.say(session, "やあ")
    muse = ScriptedCall("generate_inner_voice", {"content": "眠い"})
    house.script(ScriptedAnswer(calls=(muse,)), ScriptedAnswer(text="こんにちは"))
    house.work(wait_seconds=0.2)
    for agent in agents:
        lines = house.got(f"/agents/{agent}/memory/sessions/{session}")["items"]
        assert [line["text"] for line in lines if line["kind"] == "speech"] == [
            "やあ",
            "こんにちは",
            "こんにちは",
        ]
        thoughts = [line for line in lines if line["kind"] == "inner_voice"]
        assert [(line["text"], line["speaker_id"]) for line in thoughts] == [("眠い", agent)]


def test_a_session_of_another_agent_is_not_there(talked: tuple[House, str, str]) -> None:
    house, _, session = talked
    other = house.agent("Ada")
    found = problem(house.call("GET", f"/agents/{other}/memory/sessions/{session}"), 404)
    nothing = problem(house.call("GET", f"/agents/{other}/memory/sessions/nothing"), 404)
    assert found["detail"].replace(session, "nothing") == nothing["detail"]
    assert house.got(f"/agents/{other}/memory/sessions")["items"] == []


def test_impressions_are_listed_and_shown_session_by_session(house: House) -> None:
    agent = house.agent()
    past = SessionImpression(session_id="s1", agreement="中立", notes="丁寧", at=NOW)
    for number in range(3):
        person = f"k{number}"
        seen = Impression(
            target_id=person,
            target_name=f"客{number}",
            personality="穏やか",
            history=(past,),
            created_at=NOW,
            updated_at=NOW,
        )
        keep(house, agent, IMPRESSION, person, seen)
    path = f"/agents/{agent}/memory/impressions"
    listed = walked(house, path, 2)
    assert [each["target_id"] for each in listed] == ["k0", "k1", "k2"]
    assert "history" not in listed[0]
    shown = house.got(f"{path}/k1")
    assert (shown["target_name"], shown["personality"]) == ("客1", "穏やか")
    assert [each["notes"] for each in shown["history"]] == ["丁寧"]
    problem(house.call("GET", f"{path}/nobody"), 404)
    problem(house.call("GET", f"/agents/{house.agent()}/memory/impressions/k1"), 404)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 50])
def test_knowledge_is_read_as_nodes_and_then_edges(house: House, size: int) -> None:
    agent, stranger = house.agent(), house.agent()
    for number in range(3):
        node = KnowledgeNode(id=f"n{number}", label=f"京都{number}", updated_at=NOW)
        keep(house, agent, NODE, node.id, node)
    keep(house, stranger, NODE, "n9", KnowledgeNode(id="n9", label="Rome", updated_at=NOW))
    for number in range(2):
        edge = KnowledgeEdge(
            origin=f"n{number}", target="n2", relation="near", weight=0.7, updated_at=NOW
        )
        keep(house, agent, EDGE, f"e{number}", edge)
    path, query = f"/agents/{agent}/memory/graph", f"?limit={size}"
    nodes, edges = list[Any](), list[Any]()
    while query:
        page = house.got(f"{path}{query}")
        assert len(page["nodes"]) + len(page["edges"]) <= size
        assert not page["edges"] or len(nodes) + len(page["nodes"]) == 3
        nodes += page["nodes"]
        edges += page["edges"]
        query = f"?limit={size}&cursor={page['next_cursor']}" if page["next_cursor"] else ""
    assert [node["label"] for node in nodes] == ["京都0", "京都1", "京都2"]
    assert [(edge["origin"], edge["weight"]) for edge in edges] == [("n0", 0.7), ("n1", 0.7)]


def test_summaries_are_listed_newest_first_and_read_by_their_short_ids(house: House) -> None:
    agent = house.agent()
    for number in (1, 2, 10):
        made = Summary(
            id=f"S{number}",
            span=SummarySpan.TOPIC,
            title=f"話{number}",
            text="京都の話をした。",
            sources=(SummarySource(session_id="s1", first=1, last=number),),
            since=NOW,
            until=NOW,
            at=NOW,
        )
        keep(house, agent, SUMMARY, memory_summary_document_id(made.id), made)
    path = f"/agents/{agent}/memory/summaries"
    assert [each["id"] for each in walked(house, path, 2)] == ["S10", "S2", "S1"]
    shown = house.got(f"{path}/S10")
    assert shown["sources"] == [{"session_id": "s1", "first": 1, "last": 10}]
    assert (shown["title"], shown["text"]) == ("話10", "京都の話をした。")
    problem(house.call("GET", f"{path}/S3"), 404)
    for name in ("S0", "S01", "10", "S1x", "s1", "S" + "9" * 10):
        problem(house.call("GET", f"{path}/{name}"), 422, "summary_id")
    assert house.got(f"/agents/{house.agent()}/memory/summaries")["items"] == []


def test_experiences_are_listed_newest_first(house: House) -> None:
    agent = house.agent()
    for number in range(3):
        lived = Experience(
            id=f"x{number}",
            experience=f"説明した {number}",
            outcome=Outcome.SUCCESS,
            lesson="例を挙げる",
            model="scripted:rules",
            at=NOW + timedelta(minutes=number),
        )
        keep(house, agent, EXPERIENCE, lived.id, lived)
    listed = walked(house, f"/agents/{agent}/memory/experiences", 2)
    assert [each["id"] for each in listed] == ["x2", "x1", "x0"]
    assert listed[0]["model"] == "scripted:rules"


PARTS = ("sessions", "impressions", "graph", "experiences", "summaries", "curated", "status")


@pytest.mark.parametrize("part", PARTS)
def test_only_owners_look_into_a_memory(shared: House, part: str) -> None:
    path = f"/agents/{shared.agent()}/memory/{part}"
    for key in (shared.read, shared.chat):
        problem(shared.call("GET", path, key=key), 403)
    assert shared.call("GET", path).status_code == 200
    problem(shared.call("GET", f"/agents/nobody/memory/{part}"), 404)


@pytest.mark.parametrize("part", PARTS[:-1])
@pytest.mark.parametrize(
    "query", ["limit=0", "limit=201", "limit=x", "cursor=x", "cursor=bm90aGluZzp4", "colour=1"]
)
def test_a_list_is_asked_for_with_a_real_cursor_and_limit(
    shared: House, part: str, query: str
) -> None:
    path = f"/agents/{shared.agent()}/memory/{part}?{query}"
    problem(shared.call("GET", path), 422, query.partition("=")[0])


@pytest.mark.parametrize("query", ["first=-1", "last=x", "order=up", f"first={10**12}"])
def test_lines_are_asked_for_by_real_numbers(shared: House, query: str) -> None:
    agent = shared.agent()
    path = f"/agents/{agent}/memory/sessions/{shared.session(agent)}?{query}"
    problem(shared.call("GET", path), 422, query.partition("=")[0])
