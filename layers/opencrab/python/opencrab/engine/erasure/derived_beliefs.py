"""Derived beliefs, peers, notes, events and schedules: finds those that came from erased data.

The salient beliefs change before the documents that they are made of, so that a run after a crash
finds the rest.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from opencrab.domain.agents.event import HAPPENING, AgentEvent
from opencrab.domain.autonomy.schedule import SCHEDULE, Schedule
from opencrab.domain.autonomy.vital_signs import VITALS, VitalSigns
from opencrab.domain.document import Document
from opencrab.domain.memory.belief import BELIEF, BELIEF_TESTS, Belief
from opencrab.domain.memory.belief_index import salient_beliefs_change, salient_beliefs_in_memory
from opencrab.domain.memory.peer import PEER, Peer
from opencrab.domain.memory.salient_beliefs import OUTLOOK
from opencrab.domain.memory.working_memory import WORKING, WorkingMemory
from opencrab.domain.turn.declared_test import DeclaredTests
from opencrab.engine.erasure.derived_peers import IsAffected, talks_and_notices_to_erase
from opencrab.engine.erasure.derived_promises import promises_to_erase
from opencrab.ports.documents import Documents
from opencrab.ports.home import Home
from opencrab.ports.paging import all_pages


@dataclass
class DerivedBeliefs:
    """The planned changes, in order; removed references as `kind:id`; words that are removed.

    `schedules` are related to the erased data only by place or time: they are reported, not
    removed.
    """

    changes: list[Document] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    schedules: list[str] = field(default_factory=list)

    def remove(self, fact: Document) -> None:
        """Plan the removal of one document."""
        self.changes.append(fact.removed())
        self.removed.append(f"{fact.kind}:{fact.id}")


def beliefs_to_erase(home: Home, agent_id: str, means: IsAffected) -> DerivedBeliefs:
    """Find what an agent's beliefs, peers, notes, events, schedules and promises owe to it."""
    kept, facts = DerivedBeliefs(), home.facts
    beliefs = list(_beliefs(facts, agent_id, means, kept))
    peers = list(_peers(facts, agent_id, means, kept))
    if kept.changes:
        kept.changes[:0] = _outlook(facts, agent_id, beliefs, peers)
    _tests(facts, agent_id, means, kept, {belief.id for belief in beliefs})
    _working(facts, agent_id, means, kept)
    _signs(facts, agent_id, means, kept, _happenings(facts, agent_id, means, kept))
    _schedules(facts, agent_id, means, kept)
    promises = promises_to_erase(facts, agent_id, means)
    kept.changes += promises.changes
    kept.words += promises.words
    for fact in (*promises.removed, *talks_and_notices_to_erase(home, agent_id, means)):
        kept.remove(fact)
    return kept


def _beliefs(
    facts: Documents, agent_id: str, means: IsAffected, kept: DerivedBeliefs
) -> Iterator[Belief]:
    """Yield the beliefs that stay, without erased evidence; its effect on confidence stays."""
    for fact in all_pages(facts, agent_id, BELIEF):
        belief = fact.read(Belief)
        if means(
            belief.claim,
            turns=(belief.turn_id,),
            session_id=belief.session_id,
            people=(belief.person_id,),
            times=(belief.formed_at,),
        ):
            kept.remove(fact)
            kept.words.append(belief.claim)
            continue
        evidence = tuple(each for each in belief.evidence if not means(each, turns=(each,)))
        if evidence != belief.evidence:
            belief = belief.replaced(evidence=evidence)
            kept.changes.append(fact.with_erased_body(belief))
        yield belief


def _tests(
    facts: Documents, agent_id: str, means: IsAffected, kept: DerivedBeliefs, beliefs: set[str]
) -> None:
    """Remove the declared tests of beliefs that go, and those whose own words go."""
    stored = facts.get(agent_id, BELIEF_TESTS, BELIEF_TESTS)
    if stored is None:
        return
    tests = stored.read(DeclaredTests)
    gone = {
        each.belief_id
        for each in tests.tests
        if each.belief_id not in beliefs
        or means(
            each.test,
            turns=(each.turn_id,),
            session_id=each.session_id,
            people=(each.person_id,),
            times=(each.declared_at,),
        )
    }
    if gone:
        kept.changes.append(stored.with_erased_body(tests.without(*gone)))


def _peers(
    facts: Documents, agent_id: str, means: IsAffected, kept: DerivedBeliefs
) -> Iterator[Peer]:
    """Yield the peers that stay; one met elsewhere too keeps the trust numbers."""
    for fact in all_pages(facts, agent_id, PEER):
        peer = fact.read(Peer)
        times = () if peer.last_at is None else (peer.last_at,)
        touched = means(session_id=peer.last_session, times=times)
        if means(people=(peer.agent_id,)) or (touched and peer.interactions <= 1):
            kept.remove(fact)
            continue
        interests = () if touched else tuple(each for each in peer.interests if not means(each))
        last = "" if touched else peer.last_session
        bare = peer.replaced(interests=interests, last_session=last)
        if bare != peer:
            kept.changes.append(fact.with_erased_body(bare))
        yield bare


def _outlook(
    facts: Documents, agent_id: str, beliefs: Iterable[Belief], peers: Iterable[Peer]
) -> tuple[Document, ...]:
    stored = facts.get(agent_id, OUTLOOK, OUTLOOK)
    return (
        ()
        if stored is None
        else salient_beliefs_change(agent_id, stored, salient_beliefs_in_memory(beliefs, peers))
    )


def _working(facts: Documents, agent_id: str, means: IsAffected, kept: DerivedBeliefs) -> None:
    stored = facts.get(agent_id, WORKING, WORKING)
    if stored is None:
        return
    noted = stored.read(WorkingMemory)
    if means(
        noted.text,
        turns=(noted.turn_id,),
        session_id=noted.session_id,
        people=(noted.person_id,),
        times=(noted.at,),
    ):
        kept.remove(stored)


def _happenings(
    facts: Documents, agent_id: str, means: IsAffected, kept: DerivedBeliefs
) -> list[str]:
    """Plan the removal of affected events and return their ids."""
    gone = []
    for fact in all_pages(facts, agent_id, HAPPENING):
        event = fact.read(AgentEvent)
        if means(
            event.text,
            session_id=event.session_id,
            people=(event.source,),
            times=(event.at,),
        ):
            kept.remove(fact)
            gone.append(fact.id)
    return gone


def _signs(
    facts: Documents, agent_id: str, means: IsAffected, kept: DerivedBeliefs, gone: Iterable[str]
) -> None:
    """Remove from the vital signs the affected mention, speech times and unread events."""
    stored = facts.get(agent_id, VITALS, VITALS)
    if stored is None:
        return
    signs = stored.read(VitalSigns)
    mention = signs.mention
    if mention is not None and means(
        session_id=mention.session_id,
        line=mention.line,
        people=(mention.principal_id,),
        times=(mention.at,),
    ):
        mention = None
    fewer = sum(each > signs.read_to for each in gone)
    after = signs.replaced(
        mention=mention,
        unread=max(signs.unread - fewer, 0),
        spoke={name: at for name, at in signs.spoke.items() if not means(name, times=(at,))},
    )
    if after != signs:
        kept.changes.append(stored.with_erased_body(after))


def _schedules(facts: Documents, agent_id: str, means: IsAffected, kept: DerivedBeliefs) -> None:
    """Remove schedules whose text repeats erased data; report those related by place or time."""
    for fact in all_pages(facts, agent_id, SCHEDULE):
        known = fact.read(Schedule)
        told = "" if known.channel is None else known.channel.target
        if means(known.name, known.instructions, told):
            kept.remove(fact)
        elif means(
            session_id=known.session_id or "",
            turns=(known.last_turn_id or "",),
            times=(known.created_at, known.updated_at),
        ):
            kept.schedules.append(known.id)
