"""Whether trust tells agents that keep their promises from those that break them."""

from collections.abc import Collection, Iterable
from datetime import datetime

from opencrab.domain.memory.peer import PEER, Peer, remembered_peer_trust
from opencrab.ports.documents import Documents
from opencrab.ports.paging import all_pages

PairTrust = tuple[str, str, float]
"""Who trusts, whom, and how far."""


def trust_stored_in_simulation(
    facts: Documents, agent_ids: Iterable[str], now: datetime, prior: float
) -> list[PairTrust]:
    """Return the trust of each agent in each peer with which it had a collaboration."""
    return [
        (agent_id, peer.agent_id, remembered_peer_trust(peer, now, prior))
        for agent_id in agent_ids
        for fact in all_pages(facts, agent_id, PEER)
        if (peer := fact.read(Peer)).interactions > 0
    ]


def trust_auc_in_simulation(pairs: Iterable[PairTrust], breakers: Collection[str]) -> float | None:
    """Return the probability that trust in a keeper is greater than trust in a breaker.

    It is the area under the ROC curve over all pairs of agents; equal trust counts half. None if
    nobody knows a keeper, or nobody a breaker.
    """
    listed = list(pairs)
    kept = [trust for _, whom, trust in listed if whom not in breakers]
    broken = [trust for _, whom, trust in listed if whom in breakers]
    if not (kept and broken):
        return None
    wins = sum((one > other) + (one == other) / 2 for one in kept for other in broken)
    return wins / (len(kept) * len(broken))
