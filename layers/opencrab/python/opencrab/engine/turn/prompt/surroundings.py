"""Orient: read what an agent that acts without being asked must know before it decides."""

from datetime import datetime
from itertools import takewhile
from typing import Any

from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.agent import Agent, Profile
from opencrab.domain.agents.event import HAPPENING, AgentEvent
from opencrab.domain.agents.heartbeat import agent_time_zone
from opencrab.domain.autonomy.vital_signs import VITALS, VitalSigns
from opencrab.domain.document import Document
from opencrab.domain.errors import NotFound
from opencrab.domain.goals.expectation import EXPECTATIONS, Expectations
from opencrab.domain.goals.goal import GOAL, Goal, goal_document_id, goal_id_of_label
from opencrab.domain.goals.promise import PROMISE_BOARD, PromiseBoard
from opencrab.domain.memory.belief import BELIEF_TESTS
from opencrab.domain.memory.clearance import Clearance
from opencrab.domain.memory.peer import Peer
from opencrab.domain.memory.salient_beliefs import OUTLOOK, SalientBeliefs
from opencrab.domain.memory.working_memory import WORKING, WorkingMemory
from opencrab.domain.turn.turn import Trigger, Turn
from opencrab.engine.turn.prompt.peer_surroundings import (
    prompt_answers_of_peers,
    prompt_names_of_peers,
)
from opencrab.engine.turn.prompt.surroundings_text import (
    WakingMoment,
    render_prompt_surroundings,
    waking_prompt_text,
)
from opencrab.engine.turn.prompt_cache import Surroundings
from opencrab.engine.turn.work import TurnWork
from opencrab.ports.agents import Agents
from opencrab.ports.documents import Documents
from opencrab.ports.home import Home
from opencrab.ports.models.model import PromptText
from opencrab.ports.peers import find_notices_on_peer_board
from opencrab.ports.turn.action import one_line

EVENTS_READ = 50
"""The most unread events that one turn reads, the oldest first; the next turn reads on."""

_NAMES = (
    (VITALS, VITALS),
    (WORKING, WORKING),
    (OUTLOOK, OUTLOOK),
    (EXPECTATIONS, EXPECTATIONS),
    (PROMISE_BOARD, PROMISE_BOARD),
    (BELIEF_TESTS, BELIEF_TESTS),
)
_MILLION = 1_000_000
_SAID = 500
"""So much of the purpose and the instructions is compared with the names of goals."""

_UNTOLD = "private"
"""The source of events that are not told to others."""


def read_prompt_surroundings(
    home: Home, turn: Turn, profile: Profile, clearance: Clearance
) -> Surroundings | None:
    """Read the surroundings of an agent that acts unasked: one read, a second for unread events.

    The notice board is one more, and so is each peer, for its name; what peers answered is read if
    the goal of the turn asked them.

    None for turns that a person asked for, and for those on behalf of peers or of the public: these
    see nothing of the agent's goals, beliefs and notes. Nor does a turn whose answer others hear,
    such as a heartbeat that speaks to a channel; of events it sees that there are some.
    """
    if not turn.is_autonomous or turn.authority not in {Authority.SELF, Authority.OWNER}:
        return None
    agent_id, facts = turn.agent_id, home.facts
    opened = [goal_document_id(goal_id) for goal_id in profile.mind.agenda.open if clearance.whole]
    serves = () if turn.task is None else (goal_document_id(goal_id_of_label(turn.task)),)
    keys = dict.fromkeys((*opened, *serves))
    names = _NAMES if clearance.whole else _NAMES[:1]
    found = facts.get_many(agent_id, *names, *((GOAL, key) for key in keys))
    goals = {fact.id: fact for fact in found if fact.kind == GOAL}
    single = {fact.kind: fact for fact in found if fact.kind != GOAL}
    signs = single[VITALS].read(VitalSigns) if VITALS in single else None
    working, outlook = single.get(WORKING), single.get(OUTLOOK)
    expected, promised = single.get(EXPECTATIONS), single.get(PROMISE_BOARD)
    seen = SalientBeliefs() if outlook is None else outlook.read(SalientBeliefs)
    events = tuple(
        event if clearance.whole else event.replaced(text="", source=_UNTOLD)
        for event in _unread(facts, turn, signs)
    )
    served = next((goals[key] for key in serves if key in goals), None)
    return Surroundings(
        signs=signs,
        goals=tuple(goals[key].read(Goal) for key in dict.fromkeys(opened) if key in goals),
        working=None if working is None else working.read(WorkingMemory),
        outlook=seen,
        capability=(Expectations() if expected is None else expected.read(Expectations)).capability,
        events=events,
        promises=None if promised is None else promised.read(PromiseBoard),
        served=served,
        declared_tests=single.get(BELIEF_TESTS),
        known_peers=frozenset(
            peer.agent_id
            for peer in seen.peers
            if peer.tainted and not is_peer_id_in_prompt_untrusted(home.agents, peer)
        ),
        names=prompt_names_of_peers(home.agents, seen.peers, events),
        **(_peer_words(home, profile, served) if clearance.whole else {}),
    )


def _peer_words(home: Home, profile: Profile, served: Document | None) -> dict[str, Any]:
    """Return what other agents said for the goal that is served, and what is new on the board."""
    goal = None if served is None else served.read(Goal)
    return {
        "answers": prompt_answers_of_peers(home, profile, goal),
        "notices": find_notices_on_peer_board(home.facts, profile.agent),
    }


def is_peer_id_in_prompt_untrusted(agents: Agents, peer: Peer) -> bool:
    """Check whether a peer's id may be a stranger's words: a tainted turn gave it, to no agent."""
    if not peer.tainted:
        return False
    try:
        agents.get(peer.agent_id)
    except NotFound:
        return True
    return False


def _unread(facts: Documents, turn: Turn, signs: VitalSigns | None) -> tuple[AgentEvent, ...]:
    """Return unread events for a heartbeat's own turn; () for the work on goals that it began.

    A turn with a channel gets only those before the first tainted event.
    """
    looks = turn.trigger is Trigger.HEARTBEAT and turn.task is None
    if not looks or signs is None or signs.unread == 0:
        return ()
    page: tuple[Document, ...] = facts.page(
        turn.agent_id, HAPPENING, after=signs.read_to, limit=EVENTS_READ
    )
    events = tuple(fact.read(AgentEvent) for fact in page)
    if turn.channel is None:
        return events
    return tuple(takewhile(lambda event: not event.tainted, events))


def prompt_orientation_text(
    work: TurnWork, around: Surroundings, now: datetime, memory_used: int = 0
) -> PromptText:
    """Return the prompt's text on the surroundings of an agent that acts unasked.

    `memory_used` are the tokens of the memory's share that core memories take.
    """
    turn, agent = work.turn, work.profile.agent
    served = None if around.served is None else around.served.read(Goal)
    moment = WakingMoment(
        language=agent.language,
        now=now,
        zone=agent_time_zone(agent.heartbeat, work.runtime.rules.time_zone),
        drives=work.profile.soul.weights,
        tainted=turn.taint,
        budget=_budget(work, agent),
        said=tuple(one_line(text, _SAID) for text in (agent.heartbeat.instructions, agent.purpose)),
        served="" if served is None else served.id,
    )
    return render_prompt_surroundings(around, moment, work.runtime.rules.autonomy, memory_used)


def _budget(work: TurnWork, agent: Agent) -> PromptText:
    limits = work.limits
    day = limits.agent_day(agent.day_limit_micro_usd) / _MILLION
    share = limits.heartbeat_percent
    return waking_prompt_text("budget", agent.language, day=day, share=share)
