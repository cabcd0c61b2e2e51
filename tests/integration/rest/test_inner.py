"""An agent's beliefs, peers and working memory over REST; the owner's to read and take away."""

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from opencrab.domain.document import new_fact
from opencrab.domain.memory.belief import BELIEF, BELIEF_TESTS, Belief
from opencrab.domain.memory.belief_index import salient_beliefs_in_memory
from opencrab.domain.memory.memory import EXPERIENCE, IMPRESSION, Experience, Impression
from opencrab.domain.memory.peer import PEER, Peer
from opencrab.domain.memory.salient_beliefs import OUTLOOK, SalientBeliefs
from opencrab.domain.memory.working_memory import WORKING, WorkingMemory
from opencrab.domain.outcome import Outcome
from opencrab.domain.turn.declared_test import DeclaredTest, DeclaredTests
from opencrab.gateways.rest.http.page import http_page_cursor
from tests.integration.rest.house import House, problem

NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)
CLAIMS = {"b1": ("蟹は横に歩く", 0.2), "b2": ("Tea is hot.", 0.9), "b3": ("海は広い", 0.9)}


def keep(house: House, agent: str, kind: str, fact_id: str, value: Any) -> None:
    """A fact of the agent's, as a turn leaves it."""
    house.runtime.home.facts.commit(new_fact(agent, kind, fact_id, value))


@pytest.fixture
def agent(house: House) -> str:
    """An agent who believes three things and knows two others."""
    made = house.agent("さくら")
    beliefs = [
        Belief(id=name, claim=claim, confidence=sure, formed_at=NOW, tainted=name == "b2")
        for name, (claim, sure) in CLAIMS.items()
    ]
    ago = house.runtime.clock.now() - timedelta(minutes=1_000)
    ken = Peer(agent_id="ken", interests=("海",), interactions=4, successes=3, last_at=ago)
    peers = (ken, Peer(agent_id="new"))
    for belief in beliefs:
        keep(house, made, BELIEF, belief.id, belief)
    for peer in peers:
        keep(house, made, PEER, peer.agent_id, peer)
    keep(house, made, OUTLOOK, OUTLOOK, salient_beliefs_in_memory(beliefs, peers))
    said = Impression(
        target_id="ken", target_name="健太", notes="静か", created_at=NOW, updated_at=NOW
    )
    keep(house, made, IMPRESSION, "ken", said)
    return made


def outlook(house: House, agent: str) -> SalientBeliefs:
    fact = house.runtime.home.facts.get(agent, OUTLOOK, OUTLOOK)
    assert fact is not None
    return fact.read(SalientBeliefs)


def test_beliefs_are_listed_the_surest_first(house: House, agent: str) -> None:
    whole = house.got(f"/agents/{agent}/beliefs")
    assert [each["id"] for each in whole["items"]] == ["b2", "b3", "b1"]
    first = whole["items"][0]
    assert (first["claim"], first["confidence"], first["tainted"]) == ("Tea is hot.", 0.9, True)
    seen, query = list[str](), "?limit=1"
    while query:
        page = house.got(f"/agents/{agent}/beliefs{query}")
        seen += [each["id"] for each in page["items"]]
        query = f"?limit=1&cursor={page['next_cursor']}" if page["next_cursor"] else ""
    assert seen == ["b2", "b3", "b1"]
    assert house.got(f"/agents/{house.agent()}/beliefs")["items"] == []


def test_a_belief_is_shown_with_its_declared_test(house: House, agent: str) -> None:
    test = DeclaredTest(belief_id="b2", test="file:茶.md", holds=False, declared_at=NOW)
    tests = DeclaredTests(tests=(test,))
    house.runtime.home.facts.commit(new_fact(agent, BELIEF_TESTS, BELIEF_TESTS, tests))
    shown = {each["id"]: each for each in house.got(f"/agents/{agent}/beliefs")["items"]}
    assert (shown["b2"]["test"], shown["b2"]["test_holds"]) == ("file:茶.md", False)
    assert (shown["b1"]["test"], shown["b1"]["test_holds"]) == ("", None)


@pytest.mark.parametrize("place", ["beliefs:x", "beliefs:9/b1", "beliefs:./b1", "peers:0.5/b1"])
def test_a_cursor_of_another_list_is_refused(house: House, agent: str, place: str) -> None:
    name, _, rest = place.partition(":")
    cursor = http_page_cursor(name, rest)
    problem(house.call("GET", f"/agents/{agent}/beliefs?cursor={cursor}"), 422, "cursor")


def test_a_peer_is_shown_with_the_trust_of_now(house: House, agent: str) -> None:
    ken, new = house.got(f"/agents/{agent}/peers")["items"]
    assert ken["trust"] == pytest.approx(0.75 * math.exp(-1), rel=0.01)
    assert (ken["successes"], ken["interests"]) == (3, ["海"])
    assert (new["trust"], new["last_at"]) == (0.5, None)
    page = house.got(f"/agents/{agent}/peers?limit=1")
    rest = house.got(f"/agents/{agent}/peers?cursor={page['next_cursor']}")
    assert [each["agent_id"] for each in rest["items"]] == ["new"]
    shown = house.got(f"/agents/{agent}/peers/ken")
    assert (shown["impression"]["notes"], shown["interactions"]) == ("静か", 4)
    assert house.got(f"/agents/{agent}/peers/new")["impression"] is None
    problem(house.call("GET", f"/agents/{agent}/peers/nobody"), 404)


def test_of_whom_there_are_only_words_the_trust_is_the_prior(house: House, agent: str) -> None:
    assert house.call("DELETE", f"/agents/{agent}/peers/ken").status_code == 204
    shown = house.got(f"/agents/{agent}/peers/ken")
    assert (shown["trust"], shown["interactions"]) == (0.5, 0)
    assert shown["impression"]["target_name"] == "健太"


def test_what_is_taken_away_is_out_of_the_outlook_too(house: House, agent: str) -> None:
    for name in ("b1", "b3"):
        assert house.call("DELETE", f"/agents/{agent}/beliefs/{name}").status_code == 204
    assert house.call("DELETE", f"/agents/{agent}/peers/new").status_code == 204
    problem(house.call("DELETE", f"/agents/{agent}/beliefs/b1"), 404)
    assert [each["id"] for each in house.got(f"/agents/{agent}/beliefs")["items"]] == ["b2"]
    left = outlook(house, agent)
    assert [each.id for each in left.beliefs] == ["b2"]
    assert [each.agent_id for each in left.peers] == ["ken"]


def test_working_memory_is_read_and_cleared(house: House, agent: str) -> None:
    path = f"/agents/{agent}/working-memory"
    nothing = house.got(path)
    assert (nothing["text"], nothing["size"], nothing["at"]) == ("", 0, None)
    noted = WorkingMemory(text="下書き draft", turn_id="t1", tainted=True, at=NOW)
    keep(house, agent, WORKING, WORKING, noted)
    shown = house.got(path)
    assert (shown["text"], shown["size"], shown["tainted"]) == ("下書き draft", 15, True)
    for _ in range(2):
        assert house.call("DELETE", path).status_code == 204
    assert house.got(path)["text"] == ""


def test_experiences_are_listed_beside_them_too(house: House, agent: str) -> None:
    for number in range(2):
        lived = Experience(
            id=f"{number:026d}",
            experience="歩いた",
            outcome=Outcome.SUCCESS,
            lesson="x",
            at=NOW,
        )
        keep(house, agent, EXPERIENCE, lived.id, lived)
    here, there = f"/agents/{agent}/experiences", f"/agents/{agent}/memory/experiences"
    assert house.got(here) == house.got(there)
    page = house.got(f"{here}?limit=1")
    assert len(house.got(f"{there}?cursor={page['next_cursor']}")["items"]) == 1


@pytest.mark.parametrize("path", ["beliefs", "peers", "peers/ken", "working-memory"])
def test_only_the_owner_of_an_agent_that_is_there_reads_any_of_it(
    house: House, agent: str, path: str
) -> None:
    problem(house.call("GET", f"/agents/nobody/{path}"), 404)
    problem(house.call("GET", f"/agents/{agent}/{path}", key=house.chat), 403)
