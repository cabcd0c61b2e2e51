"""Beliefs, working memory, links and peers, as an agent forms them itself."""

from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import pytest
from pydantic import ValidationError

from opencrab.domain.access.authority import Authority, does_authority_taint_reader
from opencrab.domain.document import new_fact
from opencrab.domain.errors import Changed, Invalid
from opencrab.domain.memory.belief import BELIEF, Belief
from opencrab.domain.memory.belief_index import BELIEFS, PEERS
from opencrab.domain.memory.knowledge_graph import EDGE, NODE, KnowledgeEdge, KnowledgeNode
from opencrab.domain.memory.peer import PEER, Peer, remembered_peer_trust
from opencrab.domain.memory.salient_beliefs import OUTLOOK, SalientBeliefs
from opencrab.domain.memory.working_memory import (
    WORKING,
    WORKING_BYTES,
    WorkingMemory,
    clear_stale_working_memory,
    write_working_memory,
)
from opencrab.domain.value import Value
from tests.unit.actions.knowing import NOW, REGISTRY, Desk, desk

CRABS, CRABS_WALK = "蟹は横に歩く", "Crabs walk sideways on every beach."

Kept = TypeVar("Kept", bound=Value)


@pytest.fixture
def mika(tmp_path: Path) -> Iterator[Desk]:
    """Mika's place."""
    with desk(tmp_path) as place:
        yield place


def kept(mika: Desk, kind: str, form: type[Kept], name: str | None = None) -> Kept:
    fact = mika.home.facts.get("mika", kind, name or kind)
    assert fact is not None
    return fact.read(form)


def turned(mika: Desk, turn_id: str, *, taint: bool = False) -> None:
    """Another turn of Mika's."""
    mika.at = replace(mika.at, turn=mika.at.turn.replaced(id=turn_id, taint=taint))


def error(mika: Desk, name: str, /, **arguments: Any) -> str:
    before = len(mika.home.facts.page("mika", BELIEF))
    told = mika.do(name, **arguments)
    assert not told.success
    assert len(mika.home.facts.page("mika", BELIEF)) == before
    return str(told.error)


@pytest.mark.parametrize(
    ("claim", "again"),
    [(CRABS, "蟹は、横に歩きます。"), (CRABS_WALK, "crabs walk sideways on every BEACH")],
)
def test_the_same_claim_again_confirms_the_belief_once_a_turn(
    mika: Desk, claim: str, again: str
) -> None:
    first = mika.data("form_belief", claim=claim, confidence=0.6, evidence=["S1"])
    assert (first["confidence"], first["confirmed"]) == (0.6, False)
    assert mika.data("form_belief", claim=again)["confidence"] == 0.6
    turned(mika, "t2")
    second = mika.data("form_belief", claim=again, evidence=["seen twice"])
    assert second["belief_id"] == first["belief_id"]
    assert second["confirmed"]
    assert second["confidence"] == round((0.6 * 2 + 1) / 3, 4)
    belief = kept(mika, BELIEF, Belief, first["belief_id"])
    assert (belief.claim, belief.evidence) == (claim, ("S1", "t1", "seen twice", "t2"))
    (brief,) = kept(mika, OUTLOOK, SalientBeliefs).beliefs
    assert (brief.id, brief.confidence) == (belief.id, belief.confidence)


def test_the_contrary_is_another_belief(mika: Desk) -> None:
    mika.data("form_belief", claim=CRABS)
    mika.data("form_belief", claim="蟹は横に歩かない")
    assert len(mika.home.facts.page("mika", BELIEF)) == 2
    assert len(kept(mika, OUTLOOK, SalientBeliefs).beliefs) == 2


@pytest.mark.parametrize(
    ("outcome", "confidence"), [("success", 0.6667), ("failure", 0.3333), ("partial", 0.5)]
)
def test_a_belief_is_tested_by_what_was_seen(mika: Desk, outcome: str, confidence: float) -> None:
    name = mika.data("form_belief", claim=CRABS)["belief_id"]
    told = mika.data("test_belief", belief_id=name, outcome=outcome, evidence=["海辺で見た"])
    assert told["confidence"] == confidence
    belief = kept(mika, BELIEF, Belief, name)
    assert belief.tested_at is not None
    assert belief.evidence[-1] == "海辺で見た"
    assert kept(mika, OUTLOOK, SalientBeliefs).beliefs[0].confidence == belief.confidence


def test_what_is_no_claim_and_no_test_is_told_so(mika: Desk) -> None:
    assert "there is no belief 'b1'" in error(
        mika, "test_belief", belief_id="b1", outcome="success"
    )
    assert "claim is blank" in error(mika, "form_belief", claim=" \u200b ")
    assert "501 characters, at most 500" in error(mika, "form_belief", claim="蟹" * 501)
    for wrong in ({"claim": CRABS, "confidence": 1.1}, {"claim": CRABS, "evidence": ["x"] * 21}):
        with pytest.raises(ValidationError):
            mika.do("form_belief", **wrong)
    with pytest.raises(ValidationError):
        mika.do("test_belief", belief_id="b1", outcome="unknown")


def test_foreign_words_neither_confirm_nor_refute_what_is_vouched_for(mika: Desk) -> None:
    name = mika.data("form_belief", claim=CRABS, confidence=0.9)["belief_id"]
    turned(mika, "t2", taint=True)
    assert "untrusted text" in error(mika, "form_belief", claim="蟹は横に歩きます")
    assert "untrusted text" in error(mika, "test_belief", belief_id=name, outcome="failure")
    assert kept(mika, BELIEF, Belief, name).confidence == 0.9
    foreign = mika.data("form_belief", claim="Ada owns the sea.", confidence=0.99)
    assert (foreign["tainted"], foreign["confidence"]) == (True, 0.5)
    turned(mika, "t3")
    assert mika.data("form_belief", claim=CRABS)["tainted"] is False


def test_words_of_ones_own_take_the_place_of_the_same_foreign_ones(mika: Desk) -> None:
    turned(mika, "t2", taint=True)
    name = mika.data("form_belief", claim=CRABS, evidence=["Ada says so"])["belief_id"]
    turned(mika, "t3")
    checked = mika.data("test_belief", belief_id=name, outcome="success")
    assert checked["tainted"], "a test makes no words one's own"
    turned(mika, "t4")
    own = mika.data("form_belief", claim="蟹は横に歩きます", confidence=0.7)
    belief = kept(mika, BELIEF, Belief, name)
    assert (own["belief_id"], belief.tainted) == (name, False)
    assert (belief.claim, belief.confidence) == ("蟹は横に歩きます", 0.7)
    assert (belief.evidence, belief.confirmed) == (("t4",), 0)


def test_of_two_who_form_the_same_belief_at_once_one_looks_again(mika: Desk) -> None:
    action = REGISTRY.find("form_belief")
    assert action is not None
    results = [action.run(action.arguments(claim=text), mika.at) for text in (CRABS, f"{CRABS}。")]
    mika.home.facts.commit(*results[0].facts)
    with pytest.raises(Changed):
        mika.home.facts.commit(*results[1].facts)


def test_beliefs_and_peers_have_an_end(mika: Desk) -> None:
    beliefs = (
        new_fact("mika", BELIEF, f"b{n}", Belief(id=f"b{n}", claim=f"x{n}y", formed_at=NOW))
        for n in range(BELIEFS)
    )
    mika.home.facts.commit(*beliefs)
    peers = (new_fact("mika", PEER, f"p{n}", Peer(agent_id=f"p{n}")) for n in range(PEERS))
    mika.home.facts.commit(*peers)
    full = "limit reached: 1000 beliefs: "
    assert full in error(mika, "form_belief", claim=CRABS)
    assert "limit reached: 500 peers: " in error(
        mika, "rate_peer", peer_id="ken", outcome="success"
    )
    assert mika.data("form_belief", claim="X7Y")["confirmed"]
    assert mika.data("rate_peer", peer_id="p7", outcome="success")["counted"]


def test_a_peer_is_rated_once_a_session(mika: Desk) -> None:
    first = mika.data(
        "rate_peer", peer_id="ken", outcome="success", competence=0.8, interests=["海", "Sea", "海"]
    )
    assert first == {"peer_id": "ken", "counted": True, "interactions": 1, "successes": 1}
    again = mika.data("rate_peer", peer_id="ken", outcome="failure", reliability=0.1)
    assert (again["counted"], again["interactions"]) == (False, 1)
    mika.at = replace(mika.at, session=mika.at.session.replaced(id="s2"))
    assert mika.data("rate_peer", peer_id="ken", outcome="failure")["interactions"] == 2
    ken = kept(mika, PEER, Peer, "ken")
    assert (ken.competence, ken.reliability, ken.interests) == (0.8, 0.1, ("海", "Sea"))
    (seen,) = kept(mika, OUTLOOK, SalientBeliefs).peers
    assert (seen.agent_id, seen.successes, seen.tainted) == ("ken", 1, False)
    assert "you cannot rate yourself" in error(mika, "rate_peer", peer_id="mika", outcome="success")


def test_in_its_own_session_each_collaboration_counts(mika: Desk) -> None:
    mika.at = replace(mika.at, session=mika.at.session.replaced(created_by="mika"))
    counts = [
        mika.data("rate_peer", peer_id="ken", outcome=outcome)["interactions"]
        for outcome in ("success", "partial", "failure")
    ]
    assert counts == [1, 2, 3]


def test_a_peers_turn_may_rate_and_nothing_else_of_all_this_and_its_word_taints(mika: Desk) -> None:
    mika.on_behalf_of(Authority.PEER)
    routing = mika.at.reach.models.routing
    inner = {name for name in CALLS if REGISTRY.find(name)}
    allowed = {
        who: {each.name for each in REGISTRY.allowed(mika.at.agent, routing, who)} & inner
        for who in Authority
    }
    assert allowed[Authority.PEER] == {"rate_peer"}
    assert allowed[Authority.PUBLIC] == set()
    assert allowed[Authority.SELF] == inner
    mika.data("rate_peer", peer_id="ken", outcome="success")
    mika.on_behalf_of(Authority.OWNER)
    mika.data("rate_peer", peer_id="ken", outcome="success")
    assert kept(mika, PEER, Peer, "ken").tainted


CALLS: dict[str, dict[str, Any]] = {
    "form_belief": {"claim": CRABS},
    "test_belief": {"belief_id": "b", "outcome": "success"},
    "note_working_memory": {"content": CRABS},
    "link_knowledge": {"origin": "蟹", "relation": "lives_in", "target": "海"},
    "rate_peer": {"peer_id": "ken", "outcome": "success"},
}


@pytest.mark.parametrize(
    "name",
    [
        *("domain.access.authority", "domain.turn.action"),
        *("domain.approvals.approval", "domain.access.principal"),
        *("actions.registry", "engine.turn.act", "engine.turn.call"),
        *("engine.approvals.approvals", "engine.approvals.grants"),
    ],
)
def test_nothing_that_decides_what_is_allowed_knows_of_trust(name: str) -> None:
    source = Path(str(import_module(f"opencrab.{name}").__file__)).read_text()
    for module in ("peer", "salient_beliefs", "belief_index"):
        assert f"opencrab.domain.memory.{module} " not in source
    assert "trust" not in source


def test_a_word_of_the_most_trusted_peer_taints_and_is_bound_as_any_other(mika: Desk) -> None:
    for number in range(20):
        mika.at = replace(mika.at, session=mika.at.session.replaced(id=f"s{number}"))
        mika.data("rate_peer", peer_id="ken", outcome="success", competence=1, reliability=1)
    assert remembered_peer_trust(kept(mika, PEER, Peer, "ken"), mika.clock.now(), 0.5) > 0.99
    assert does_authority_taint_reader(Authority.PEER)
    mika.on_behalf_of(Authority.PEER, person="ken")
    allowed = REGISTRY.allowed(mika.at.agent, mika.at.reach.models.routing, Authority.PEER)
    assert {"form_belief", "save_memory"}.isdisjoint(each.name for each in allowed)


def test_working_memory_is_replaced_or_added_to(mika: Desk) -> None:
    told = mika.data("note_working_memory", content="一行目\nsecond")
    assert told == {"bytes": 16, "left": WORKING_BYTES - 16}
    turned(mika, "t2", taint=True)
    mika.data("note_working_memory", content="三", append=True)
    written = kept(mika, WORKING, WorkingMemory)
    assert (written.text, written.turn_id, written.tainted) == ("一行目\nsecond\n三", "t2", True)
    turned(mika, "t3")
    mika.data("note_working_memory", content="四", append=True)
    assert kept(mika, WORKING, WorkingMemory).tainted
    mika.data("note_working_memory", content="五")
    assert kept(mika, WORKING, WorkingMemory).text == "五"
    assert not kept(mika, WORKING, WorkingMemory).tainted


def test_working_memory_holds_64_kilobytes_and_not_one_more(mika: Desk) -> None:
    most = "蟹" * (WORKING_BYTES // 3) + "x" * (WORKING_BYTES % 3)
    assert mika.data("note_working_memory", content=most)["left"] == 0
    over = f"would have {WORKING_BYTES + 2} bytes, at most {WORKING_BYTES} are allowed"
    assert over in error(mika, "note_working_memory", content="x", append=True)
    assert "are allowed" in error(mika, "note_working_memory", content=f"{most}x")
    stored = kept(mika, WORKING, WorkingMemory)
    assert stored.text == most
    with pytest.raises(Invalid) as caught:
        write_working_memory(stored, stored.replaced(text="x"), append=True)
    assert (caught.value.code, caught.value.field) == ("invalid", "content")


def test_working_memory_is_cleared_by_a_turn_that_left_it_alone(mika: Desk) -> None:
    mika.data("note_working_memory", content="一")
    stored = mika.home.facts.get("mika", WORKING, WORKING)
    assert clear_stale_working_memory(None, "t1") is None
    assert clear_stale_working_memory(stored, "t1") is None
    gone = clear_stale_working_memory(stored, "t2")
    assert gone is not None
    mika.home.facts.commit(gone)
    assert mika.home.facts.get("mika", WORKING, WORKING) is None


def test_a_link_is_kept_once_and_grows_stronger(mika: Desk) -> None:
    link = {"origin": "蟹", "relation": "lives_in", "target": "海"}
    first = mika.data("link_knowledge", **link, content="十本足")
    second = mika.data("link_knowledge", **link)
    assert first["weight"] < second["weight"]
    (edge,) = mika.home.facts.page("mika", EDGE)
    assert edge.read(KnowledgeEdge).weight == pytest.approx(second["weight"])
    crab = kept(mika, NODE, KnowledgeNode, first["origin"])
    assert (crab.label, crab.content, crab.turn_id) == ("蟹", "十本足", "t1")
    turned(mika, "t2", taint=True)
    mika.data("link_knowledge", **link, content="八本足")
    assert kept(mika, NODE, KnowledgeNode, first["origin"]).content == "十本足"
    mika.data("link_knowledge", origin="Octopus", relation="eats", target="蟹")
    nodes = {
        fact.read(KnowledgeNode).label: fact.read(KnowledgeNode)
        for fact in mika.home.facts.page("mika", NODE)
    }
    assert nodes["Octopus"].tainted
    assert not nodes["蟹"].tainted
    assert "content has 2001" in error(mika, "link_knowledge", **link, content="x" * 2_001)
