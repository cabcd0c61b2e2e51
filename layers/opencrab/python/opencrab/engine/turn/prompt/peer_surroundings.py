"""Peers around an agent that acts unasked: their names, and what they answered for its goal."""

from collections.abc import Iterable

from opencrab.domain.agents.agent import Profile
from opencrab.domain.agents.event import AgentEvent
from opencrab.domain.conversation.message import LineKind
from opencrab.domain.goals.goal import ActionReceipt, Goal
from opencrab.domain.memory.peer import Peer
from opencrab.domain.peers.talk import PEER_TALK, PeerTalk
from opencrab.ports.agents import Agents
from opencrab.ports.home import Home
from opencrab.ports.turn.action import one_line

ANSWER_CHARACTERS = 1_000
_TALKING = "talk_to_peer"
_TALKS, _LINES = 200, 50


def prompt_names_of_peers(
    agents: Agents, peers: Iterable[Peer], events: Iterable[AgentEvent]
) -> dict[str, str]:
    """Return the names of the agents among these peers and sources of events, by id."""
    ids = dict.fromkeys((*(p.agent_id for p in peers), *(e.source for e in events if e.session_id)))
    return agents.names(ids) if ids else {}


def prompt_answers_of_peers(home: Home, profile: Profile, goal: Goal | None) -> tuple[str, ...]:
    """Return what other agents answered for a goal, each as `NAME: words`; reads only if it asked.

    The words are those of a peer.
    """
    if goal is None or not any(each.action == _TALKING for each in _receipts(goal)):
        return ()
    page = home.facts.page(profile.agent.id, PEER_TALK, limit=_TALKS)
    talks = [talk for fact in page if (talk := fact.read(PeerTalk)).goal == goal.id]
    told = (_answer(home, talk) for talk in talks if talk.answer_turn)
    return tuple(text for text in told if text)


def _receipts(goal: Goal) -> Iterable[ActionReceipt]:
    yield from goal.receipts
    for task in goal.tasks:
        yield from task.receipts


def _answer(home: Home, talk: PeerTalk) -> str:
    turn = home.journal.header(talk.answer_turn)
    lines = home.journal.lines(talk.session_id, after=turn.trigger_line, limit=_LINES)
    said = [x for x in lines if x.turn_id == turn.id and x.kind is LineKind.SPEECH and x.text]
    words = one_line(" ".join(line.text for line in said), ANSWER_CHARACTERS)
    return f"{said[0].speaker_name}: {words}" if said else ""
