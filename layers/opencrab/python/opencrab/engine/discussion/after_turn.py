"""Discussion: what a turn was in the talk of several agents, and what they think of it after."""

from contextlib import suppress

from opencrab.domain.conversation.session import (
    FACILITATOR,
    OBSERVER,
    Ending,
    Phase,
    Session,
)
from opencrab.domain.document import Fact, new_fact
from opencrab.domain.errors import Changed
from opencrab.domain.memory.belief_index import PEERS, outlook_change
from opencrab.domain.memory.peer import PEER, Peer, met
from opencrab.domain.memory.salient_beliefs import OUTLOOK, Outlook, with_peer
from opencrab.domain.outcome import Outcome
from opencrab.domain.value import Language
from opencrab.engine.agents.events import discussion_ended
from opencrab.engine.runtime import Runtime

_TRIES = 5
_OUTCOMES = {
    Ending.DONE: Outcome.SUCCESS,
    Ending.QUORUM: Outcome.SUCCESS,
    Ending.CONCLUDED: Outcome.SUCCESS,
    Ending.QUIET: Outcome.UNKNOWN,
    Ending.BY_HAND: Outcome.UNKNOWN,
}
_ROLES = {
    "discussant": {Language.JA: "議論参加者", Language.EN: "discussant"},
    FACILITATOR: {Language.JA: "進行役", Language.EN: "facilitator"},
}
_PHASES = {
    Phase.DIVERGENT: {
        Language.JA: "発散(案や視点を広げる)",
        Language.EN: "divergent (widen the ideas and views)",
    },
    Phase.CONVERGENT: {
        Language.JA: "収束(結論にまとめる)",
        Language.EN: "convergent (come to a conclusion)",
    },
    Phase.CONCLUDED: {Language.JA: "終了", Language.EN: "concluded"},
}
_ASKED = {
    Language.JA: "[討論であなたの番です。局面: {phase} / 役割: {role} / 残りの発言機会: "
    "全員で{left}回] 新しく加えることがあれば{characters}文字程度で話します。"
    "今は様子を見るなら send_noreact、もう加えることがなければ declare_done を呼びます。",
    Language.EN: "[The floor is yours. Phase: {phase} / your role: {role} / turns left for all: "
    "{left}] If you have something new to add, say it in about {characters} characters. To wait "
    "and see, call send_noreact; when you have nothing left to add, call declare_done.",
}
_LEADS = {
    Language.JA: " 進行役は use_action で broadcast_guidance(全員への指針)と "
    "set_phase(局面の変更)を使えます。",
    Language.EN: " As the facilitator you can call broadcast_guidance (guidance for everybody) and "
    "set_phase with use_action.",
}
_ALONE = {
    Language.JA: " ほかの全員が、もう加えることはないと宣言しました。",
    Language.EN: " Everybody else has declared that they have nothing left to add.",
}


def asking(session: Session, agent_id: str, language: Language, characters: int) -> str:
    """What an agent is told that gets the floor: the phase, its role, and what is left."""
    part = session.participant(agent_id)
    role = part.role if part else ""
    told = _ASKED[language].format(
        phase=_PHASES[session.phase][language],
        role=_ROLES[role][language] if role in _ROLES else role,
        left=max((session.hop_limit or 0) - session.hops, 0),
        characters=characters,
    )
    if agent_id == session.facilitator_id:
        told += _LEADS[language]
    if sum(each.may_speak for each in session.participants) == 1:
        told += _ALONE[language]
    return told


def settle(runtime: Runtime, session: Session) -> None:
    """Let those who took part in a discussion that is over know each other better, once."""
    if session.ended_by is None or not session.discusses:
        return
    outcome = _OUTCOMES.get(session.ended_by, Outcome.PARTIAL)
    there = [p.agent_id for p in session.participants if p.turns and p.role != OBSERVER]
    for agent_id in there:
        for other in there:
            if other != agent_id:
                _meet(runtime, agent_id, other, session, outcome)
    discussion_ended(runtime, session)


def _meet(runtime: Runtime, agent_id: str, other: str, session: Session, outcome: Outcome) -> None:
    facts = runtime.home.facts
    for _ in range(_TRIES):
        stored = facts.get(agent_id, PEER, other)
        before = Peer(agent_id=other) if stored is None else stored.read(Peer)
        after = met(before, outcome, session.id, session.updated_at)
        if after == before:
            return
        if stored is None:
            if len(facts.page(agent_id, PEER, limit=PEERS)) >= PEERS:
                return
            fact = new_fact(agent_id, PEER, other, after)
        else:
            fact = stored.holding(after)
        with suppress(Changed):
            facts.commit(fact, *_outlook(runtime, agent_id, after))
            return


def _outlook(runtime: Runtime, agent_id: str, peer: Peer) -> tuple[Fact, ...]:
    """What the agent has in view whenever it wakes, where this peer changes it."""
    stored = runtime.home.facts.get(agent_id, OUTLOOK, OUTLOOK)
    before = Outlook() if stored is None else stored.read(Outlook)
    return outlook_change(agent_id, stored, with_peer(before, peer))
