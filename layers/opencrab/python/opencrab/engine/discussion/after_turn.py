"""Discussions: the prompt of a speaker's turn, and what participants learn of each other."""

from contextlib import suppress
from datetime import datetime

from opencrab.domain.conversation.session import (
    OBSERVER,
    Ending,
    Session,
)
from opencrab.domain.document import Document, new_fact
from opencrab.domain.errors import Changed
from opencrab.domain.memory.belief_index import PEERS, salient_beliefs_change
from opencrab.domain.memory.peer import PEER, Peer, memory_of_peer_after_collaboration
from opencrab.domain.memory.salient_beliefs import OUTLOOK, SalientBeliefs, remember_peer_in_memory
from opencrab.domain.outcome import Outcome
from opencrab.domain.value import Language
from opencrab.engine.agents.events import send_agents_discussion_end_event
from opencrab.engine.runtime import Runtime
from opencrab.ports.documents import Documents
from opencrab.ports.texts import Texts

_TRIES = 5
_AGREED = frozenset({Ending.DONE, Ending.QUORUM, Ending.CONCLUDED})
"""Endings that count as a success; a limit says nothing about those who reached it."""

_ROLES = Texts(__file__, "roles")
_PHASES = Texts(__file__, "phases")
_TOLD = Texts(__file__, "told")


def discussion_speaker_prompt(
    session: Session, agent_id: str, language: Language, characters: int
) -> str:
    """Return the prompt of the agent that speaks next: phase, role, and turns left."""
    part = session.participant(agent_id)
    role = part.role if part else ""
    told = _TOLD["asked"][language].format(
        phase=_PHASES[session.phase][language],
        role=_ROLES[role][language] if role in _ROLES else role,
        left=max((session.hop_limit or 0) - session.hops, 0),
        characters=characters,
    )
    if agent_id == session.facilitator_id:
        told += _TOLD["leads"][language]
    if sum(each.may_speak for each in session.participants) == 1:
        told += _TOLD["alone"][language]
    return told


def record_discussion_results(runtime: Runtime, session: Session) -> None:
    """Record an ended discussion in each participant's trust in the others, once."""
    if session.ended_by is None or not session.discusses:
        return
    outcome = Outcome.SUCCESS if was_discussion_agreed(session) else Outcome.UNKNOWN
    there = [p.agent_id for p in session.participants if p.turns and p.role != OBSERVER]
    for agent_id in there:
        for other in there:
            if other != agent_id:
                _meet(runtime.home.facts, agent_id, other, session, outcome)
    send_agents_discussion_end_event(runtime, session)


def was_discussion_agreed(session: Session) -> bool:
    """Check whether a discussion ended so that it counts as a success for those who took part."""
    return session.ended_by in _AGREED


def _meet(facts: Documents, agent_id: str, other: str, session: Session, outcome: Outcome) -> None:
    for _ in range(_TRIES):
        change = trust_change_after_discussion(
            facts, agent_id, other, outcome, session_id=session.id, at=session.updated_at
        )
        with suppress(Changed):
            if change:
                facts.commit(*change)
            return


def trust_change_after_discussion(
    facts: Documents,
    agent_id: str,
    other: str,
    outcome: Outcome,
    *,
    session_id: str,
    at: datetime,
    undoes_success: bool = False,
) -> tuple[Document, ...]:
    """Return the writes by which an agent's trust in another one changes; () if it does not.

    An agent that knows as many peers as it may gets to know no more.
    """
    stored = facts.get(agent_id, PEER, other)
    before = Peer(agent_id=other) if stored is None else stored.read(Peer)
    after = memory_of_peer_after_collaboration(
        before, outcome, session_id, at, undoes_success=undoes_success
    )
    if after == before:
        return ()
    if stored is not None:
        return (stored.with_body(after), *_outlook(facts, agent_id, after))
    if len(facts.page(agent_id, PEER, limit=PEERS)) >= PEERS:
        return ()
    return (new_fact(agent_id, PEER, other, after), *_outlook(facts, agent_id, after))


def _outlook(facts: Documents, agent_id: str, peer: Peer) -> tuple[Document, ...]:
    """Return the write of the agent's salient beliefs, if this peer changes them."""
    stored = facts.get(agent_id, OUTLOOK, OUTLOOK)
    before = SalientBeliefs() if stored is None else stored.read(SalientBeliefs)
    return salient_beliefs_change(agent_id, stored, remember_peer_in_memory(before, peer))
