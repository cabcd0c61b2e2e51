"""Outlook: the beliefs and peers that an agent has in view whenever it wakes, in one small fact."""

from datetime import UTC, datetime

from opencrab.domain.memory.belief import Belief
from opencrab.domain.memory.peer import Peer
from opencrab.domain.value import Unit, Value

OUTLOOK = "outlook"
"""Kind and id of the document that stores the outlook."""

BELIEFS, PEERS = 40, 20
OUTLOOK_BYTES = 24 * 1024

_CLAIM = 120
_INTERESTS, _INTEREST = 3, 30
_LONG_AGO = datetime.fromtimestamp(0, UTC)


class BriefBelief(Value):
    """A belief shortened for prompts; `at` is when it was last tested or formed."""

    id: str
    claim: str
    confidence: Unit
    at: datetime
    tainted: bool = False


class SalientBeliefs(Value):
    """The most salient beliefs and the peers met last, the most salient first."""

    beliefs: tuple[BriefBelief, ...] = ()
    peers: tuple[Peer, ...] = ()


def remember_belief(outlook: SalientBeliefs, belief: Belief) -> SalientBeliefs:
    """Return the outlook with a belief's present state, if it is among the most salient.

    The surer an agent is that a claim is true, or that it is false, the more salient it is; among
    equals the one that was tested or formed last.
    """
    claim = belief.claim if len(belief.claim) <= _CLAIM else f"{belief.claim[: _CLAIM - 1]}…"
    brief = BriefBelief(
        id=belief.id,
        claim=claim,
        confidence=belief.confidence,
        at=belief.tested_at or belief.formed_at,
        tainted=belief.tainted,
    )
    beliefs = (*forget_belief(outlook, belief.id).beliefs, brief)
    ranked = sorted(beliefs, key=_salience, reverse=True)[:BELIEFS]
    return _within(outlook.replaced(beliefs=tuple(ranked)))


def remember_peer_in_memory(outlook: SalientBeliefs, peer: Peer) -> SalientBeliefs:
    """Return the outlook with a peer's present state, if it is among those met last."""
    interests = tuple(each[:_INTEREST].strip() for each in peer.interests[:_INTERESTS])
    brief = peer.replaced(interests=interests, last_session="")
    peers = (*forget_peer_in_memory(outlook, peer.agent_id).peers, brief)
    ranked = sorted(peers, key=lambda each: each.last_at or _LONG_AGO, reverse=True)
    return _within(outlook.replaced(peers=tuple(ranked[:PEERS])))


def forget_belief(outlook: SalientBeliefs, belief_id: str) -> SalientBeliefs:
    """Return the outlook without a belief that was erased."""
    kept = tuple(each for each in outlook.beliefs if each.id != belief_id)
    return outlook.replaced(beliefs=kept)


def forget_peer_in_memory(outlook: SalientBeliefs, peer_id: str) -> SalientBeliefs:
    """Return the outlook without a peer that was erased."""
    return outlook.replaced(peers=tuple(e for e in outlook.peers if e.agent_id != peer_id))


def _salience(belief: BriefBelief) -> tuple[float, datetime]:
    return abs(belief.confidence - 0.5), belief.at


def _within(outlook: SalientBeliefs) -> SalientBeliefs:
    """Drop the least salient beliefs until the outlook has at most OUTLOOK_BYTES."""
    while outlook.beliefs and len(outlook.model_dump_json().encode()) > OUTLOOK_BYTES:
        outlook = outlook.replaced(beliefs=outlook.beliefs[:-1])
    return outlook
