"""An owner's view of an agent's beliefs and peers, and of its trust in them.

Trust affects attention and priority, never permissions: no access check reads it.
"""

from dataclasses import dataclass

from opencrab.domain.document import Document
from opencrab.domain.errors import Changed, NotFound, Unavailable
from opencrab.domain.memory.belief import BELIEF, BELIEF_TESTS, Belief
from opencrab.domain.memory.belief_index import salient_beliefs_change, salient_beliefs_in_memory
from opencrab.domain.memory.memory import IMPRESSION, Impression
from opencrab.domain.memory.peer import PEER, Peer, remembered_peer_trust
from opencrab.domain.memory.salient_beliefs import (
    OUTLOOK,
    SalientBeliefs,
    forget_belief,
    forget_peer_in_memory,
)
from opencrab.domain.turn.declared_test import DeclaredTest, DeclaredTests
from opencrab.engine.runtime import Runtime
from opencrab.ports.documents import Documents
from opencrab.ports.home import Home
from opencrab.ports.paging import all_pages

_TRIES = 5


@dataclass(frozen=True)
class Acquaintance:
    """A peer's statistics, the trust in it now, and the impression of it if there is one."""

    peer: Peer
    trust: float
    impression: Impression | None = None


def beliefs_in_agent_memory(
    home: Home, agent_id: str, *, after: tuple[float, str] | None, limit: int
) -> tuple[Belief, ...]:
    """Return a page of beliefs by falling confidence, after a confidence and an id.

    Raises NotFound.
    """
    home.agents.get(agent_id)
    held = (fact.read(Belief) for fact in all_pages(home.facts, agent_id, BELIEF))
    listed = sorted((-each.confidence, each.id, each) for each in held)
    if after is not None:
        listed = [each for each in listed if each[:2] > (-after[0], after[1])]
    return tuple(each for _, _, each in listed[:limit])


def declared_tests_of_beliefs(home: Home, agent_id: str) -> dict[str, DeclaredTest]:
    """Return the declared tests of an agent's beliefs, by belief."""
    stored = home.facts.get(agent_id, BELIEF_TESTS, BELIEF_TESTS)
    tests = () if stored is None else stored.read(DeclaredTests).tests
    return {each.belief_id: each for each in tests}


def peers_in_agent_memory(
    runtime: Runtime, agent_id: str, *, after: str, limit: int
) -> tuple[Acquaintance, ...]:
    """Return a page of an agent's peers, ordered by id; raise NotFound for an unknown agent."""
    runtime.home.agents.get(agent_id)
    page = runtime.home.facts.page(agent_id, PEER, after=after, limit=limit)
    return tuple(_acquaintance(runtime, fact.read(Peer)) for fact in page)


def find_peer_in_memory(runtime: Runtime, agent_id: str, peer_id: str) -> Acquaintance:
    """Return a peer with statistics, an impression or both; raise NotFound if there is neither."""
    runtime.home.agents.get(agent_id)
    found = runtime.home.facts.get_many(agent_id, (PEER, peer_id), (IMPRESSION, peer_id))
    known = {fact.kind: fact for fact in found}
    if not known:
        raise _nothing(agent_id, PEER, peer_id)
    numbers = known[PEER].read(Peer) if PEER in known else Peer(agent_id=peer_id)
    words = known[IMPRESSION].read(Impression) if IMPRESSION in known else None
    return _acquaintance(runtime, numbers, words)


def remove_belief_from_agent_memory(home: Home, agent_id: str, belief_id: str) -> None:
    """Delete a belief; raise NotFound."""
    _remove(home, agent_id, BELIEF, belief_id)


def remove_peer_from_agent_memory(home: Home, agent_id: str, peer_id: str) -> None:
    """Delete a peer's statistics, but not the impression; raise NotFound."""
    _remove(home, agent_id, PEER, peer_id)


def rebuild_salient_memory_beliefs(facts: Documents, agent_id: str) -> None:
    """Recompute the salient beliefs after beliefs or peers were imported."""
    for _ in range(_TRIES):
        stored = facts.get(agent_id, OUTLOOK, OUTLOOK)
        held = (fact.read(Belief) for fact in all_pages(facts, agent_id, BELIEF))
        known = (fact.read(Peer) for fact in all_pages(facts, agent_id, PEER))
        change = salient_beliefs_change(agent_id, stored, salient_beliefs_in_memory(held, known))
        try:
            facts.commit(*change)
        except Changed:
            continue
        return
    raise _busy(agent_id)


def _acquaintance(runtime: Runtime, known: Peer, words: Impression | None = None) -> Acquaintance:
    prior = runtime.rules.autonomy.peer_prior
    return Acquaintance(known, remembered_peer_trust(known, runtime.clock.now(), prior), words)


def _remove(home: Home, agent_id: str, kind: str, name: str) -> None:
    home.agents.get(agent_id)
    facts = home.facts
    for _ in range(_TRIES):
        names = ((kind, name), (OUTLOOK, OUTLOOK), (BELIEF_TESTS, BELIEF_TESTS))
        found = {fact.kind: fact for fact in facts.get_many(agent_id, *names)}
        if kind not in found:
            raise _nothing(agent_id, kind, name)
        stored = found.get(OUTLOOK)
        outlook = stored.read(SalientBeliefs) if stored else SalientBeliefs()
        after = (
            forget_belief(outlook, name) if kind == BELIEF else forget_peer_in_memory(outlook, name)
        )
        tests = _without_test(found.get(BELIEF_TESTS), name) if kind == BELIEF else ()
        changes = (*salient_beliefs_change(agent_id, stored, after), *tests)
        try:
            facts.commit(found[kind].removed(), *changes)
        except Changed:
            continue
        return
    raise _busy(agent_id)


def _without_test(stored: Document | None, belief_id: str) -> tuple[Document, ...]:
    if stored is None or (tests := stored.read(DeclaredTests)).of_belief(belief_id) is None:
        return ()
    return (stored.with_body(tests.without(belief_id)),)


def _nothing(agent_id: str, kind: str, name: str) -> NotFound:
    return NotFound(f"agent {agent_id!r} has no {kind} {name!r}", cure="list the existing ones")


def _busy(agent_id: str) -> Unavailable:
    return Unavailable(
        f"concurrent updates to the beliefs of agent {agent_id!r}; retries exhausted",
        cure="try again",
    )
