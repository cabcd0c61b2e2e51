"""Inner life: how much of it is kept, and when two beliefs claim the same."""

from collections.abc import Iterable

from opencrab.domain.document import Document, new_fact
from opencrab.domain.identifier import stable_id
from opencrab.domain.memory.belief import Belief
from opencrab.domain.memory.peer import Peer
from opencrab.domain.memory.salient_beliefs import (
    OUTLOOK,
    SalientBeliefs,
    remember_belief,
    remember_peer_in_memory,
)
from opencrab.domain.text.similarity import TextRelation, compare_texts, words_and_values_of_text

BELIEFS, PEERS = 1_000, 500
"""The limits of beliefs and peers of one agent."""


def belief_id_in_memory(claim: str) -> str:
    """Return the id of a claim's belief, independent of case, width, spaces and punctuation."""
    return stable_id("belief", words_and_values_of_text(claim).letters)


def belief_with_same_claim(new: Belief, held: Iterable[Belief]) -> str | None:
    """Return the id of a belief with the same or nearly the same claim, or None.

    If there are several, one that is not tainted is preferred.
    """
    found, meant = None, words_and_values_of_text(new.claim)
    for each in held:
        same = (
            each.id == new.id or compare_texts(meant, words_and_values_of_text(each.claim)) in _SAME
        )
        if same and not each.tainted:
            return each.id
        if same and found is None:
            found = each.id
    return found


def salient_beliefs_in_memory(beliefs: Iterable[Belief], peers: Iterable[Peer]) -> SalientBeliefs:
    """Build the salient beliefs from all beliefs and peers of an agent."""
    outlook = SalientBeliefs()
    for belief in beliefs:
        outlook = remember_belief(outlook, belief)
    for peer in peers:
        outlook = remember_peer_in_memory(outlook, peer)
    return outlook


def salient_beliefs_change(
    agent_id: str, stored: Document | None, after: SalientBeliefs
) -> tuple[Document, ...]:
    """Return the document that stores these salient beliefs; () if nothing changed."""
    before = SalientBeliefs() if stored is None else stored.read(SalientBeliefs)
    if after == before:
        return ()
    return (stored.with_body(after) if stored else new_fact(agent_id, OUTLOOK, OUTLOOK, after),)


_SAME = {TextRelation.SAME, TextRelation.NEAR}
