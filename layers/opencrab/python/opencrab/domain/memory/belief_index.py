"""Inner life: how much of it is kept, and when two beliefs claim the same."""

from collections.abc import Iterable

from opencrab.domain.document import Document, new_fact
from opencrab.domain.identifier import stable_id
from opencrab.domain.memory.belief import Belief
from opencrab.domain.memory.peer import Peer
from opencrab.domain.memory.salient_beliefs import OUTLOOK, SalientBeliefs, with_belief, with_peer
from opencrab.domain.text.similarity import TextRelation, claim_of_text, relation_of_claims

BELIEFS, PEERS = 1_000, 500
"""Most that one agent keeps."""


def belief_id(claim: str) -> str:
    """The id of the belief in a claim, whatever its case, width, spaces and punctuation."""
    return stable_id("belief", claim_of_text(claim).letters)


def belief_with_same_claim(new: Belief, held: Iterable[Belief]) -> str | None:
    """The id of a belief that says the same or nearly so; of several one that is vouched for."""
    found, meant = None, claim_of_text(new.claim)
    for each in held:
        same = each.id == new.id or relation_of_claims(meant, claim_of_text(each.claim)) in _SAME
        if same and not each.tainted:
            return each.id
        if same and found is None:
            found = each.id
    return found


def salient_beliefs_of(beliefs: Iterable[Belief], peers: Iterable[Peer]) -> SalientBeliefs:
    """The outlook on all that an agent believes and on all whom it knows."""
    outlook = SalientBeliefs()
    for belief in beliefs:
        outlook = with_belief(outlook, belief)
    for peer in peers:
        outlook = with_peer(outlook, peer)
    return outlook


def salient_beliefs_change(
    agent_id: str, stored: Document | None, after: SalientBeliefs
) -> tuple[Document, ...]:
    """The fact by which what an agent has in view becomes this, if that is a change."""
    before = SalientBeliefs() if stored is None else stored.read(SalientBeliefs)
    if after == before:
        return ()
    return (stored.holding(after) if stored else new_fact(agent_id, OUTLOOK, OUTLOOK, after),)


_SAME = {TextRelation.SAME, TextRelation.NEAR}
