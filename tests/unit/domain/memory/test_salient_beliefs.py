"""An agent's outlook: the most salient beliefs and newest peers, in one small fact."""

from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from opencrab.domain.memory.belief import Belief
from opencrab.domain.memory.peer import Peer
from opencrab.domain.memory.salient_beliefs import (
    BELIEFS,
    OUTLOOK_BYTES,
    PEERS,
    SalientBeliefs,
    forget_belief,
    forget_peer_in_memory,
    remember_belief,
    remember_peer_in_memory,
)
from tests.soak import examples

NOW = datetime(2026, 7, 1, tzinfo=UTC)


def belief(number: int, confidence: float, claim: str = "海は青い") -> Belief:
    at = NOW + timedelta(minutes=number)
    return Belief(id=f"b{number}", claim=claim, confidence=confidence, formed_at=at)


@settings(max_examples=examples(50))
@given(st.lists(st.tuples(st.integers(0, 60), st.floats(0, 1)), max_size=80))
def test_the_surest_beliefs_are_in_view_each_once_as_it_is_now(
    changes: list[tuple[int, float]],
) -> None:
    outlook, now = SalientBeliefs(), dict[str, Belief]()
    for number, confidence in changes:
        now[f"b{number}"] = belief(number, confidence)
        outlook = remember_belief(outlook, now[f"b{number}"])
    shown = {each.id: each.confidence for each in outlook.beliefs}
    assert len(shown) == len(outlook.beliefs) <= BELIEFS
    assert all(now[key].confidence == confidence for key, confidence in shown.items())
    sureness = [abs(each.confidence - 0.5) for each in outlook.beliefs]
    assert sureness == sorted(sureness, reverse=True)
    if len(now) <= BELIEFS:
        assert shown.keys() == now.keys()


def test_the_peers_who_were_met_last_are_in_view_in_short() -> None:
    outlook = SalientBeliefs()
    for number in range(PEERS + 5):
        at = NOW - timedelta(minutes=number)
        interests = tuple(f"{n}" + "長い関心" * 20 for n in range(9))
        outlook = remember_peer_in_memory(
            outlook,
            Peer(agent_id=f"p{number}", last_at=at, interests=interests, last_session="s1"),
        )
    assert [peer.agent_id for peer in outlook.peers] == [f"p{n}" for n in range(PEERS)]
    assert len(outlook.peers[0].interests) == 3
    assert outlook.peers[0].last_session == ""
    assert SalientBeliefs.model_validate_json(outlook.model_dump_json()) == outlook
    assert forget_peer_in_memory(outlook, "p0").peers == outlook.peers[1:]


def test_the_outlook_stays_small_and_forgets_what_it_is_told_to() -> None:
    outlook = SalientBeliefs()
    for number in range(BELIEFS):
        outlook = remember_belief(outlook, belief(number, 0.6 + number / 100, "🦀" * 400))
    for number in range(PEERS):
        interests = tuple("🦀" * 30 + str(n) for n in range(3))
        outlook = remember_peer_in_memory(outlook, Peer(agent_id=f"p{number}", interests=interests))
    assert len(outlook.model_dump_json().encode()) <= OUTLOOK_BYTES
    assert len(outlook.peers) == PEERS
    assert outlook.beliefs[0].id == f"b{BELIEFS - 1}"
    left = forget_belief(outlook, outlook.beliefs[0].id)
    assert left.beliefs == outlook.beliefs[1:]
