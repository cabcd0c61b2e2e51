"""Social reasons: other agents that an agent may turn to of its own accord, by name.

They are a notice that asks for help, a peer with low trust, and an agent that it never talked to.
"""

from dataclasses import dataclass
from datetime import datetime

from opencrab.domain.agents.agent import AgentStatus, Profile
from opencrab.domain.autonomy.settings import Autonomy
from opencrab.domain.autonomy.vital_signs import Mention
from opencrab.domain.document import Document, new_fact
from opencrab.domain.errors import NotFound
from opencrab.domain.identifier import stable_id
from opencrab.domain.memory.peer import PEER, Peer, remembered_peer_trust
from opencrab.domain.peers.notice import NOTICES_READ, Notice, NoticeKind, NoticesRead
from opencrab.domain.peers.talk import PEER_TALK
from opencrab.engine.goals.queue import GoalBoard
from opencrab.engine.turn.prompt.surroundings import is_peer_id_in_prompt_untrusted
from opencrab.ports.home import Home
from opencrab.ports.peers import find_notices_on_peer_board, find_peers_in_reach

_LOOKED_AT, _TALKS = 50, 200
_COLLABORATIVE, _OPEN = 0.6, 0.5
"""The collaboration drives from which an agent seeks out peers with low trust, and new ones."""

_HARDLY = 0.3


@dataclass(frozen=True)
class SocialReason:
    """Why an agent turns to another one; `key` names its texts, `who` is a name.

    `tainted` if the name may be a stranger's words; `read` is written with the goal.
    """

    key: str
    who: str
    tainted: bool = False
    read: Document | None = None


def find_social_goal_reason(
    home: Home, autonomy: Autonomy, board: GoalBoard, now: datetime
) -> SocialReason | None:
    """Return the first reason to turn to another agent, None if there is none."""
    return (
        _notice_reason(home, board, now)
        or _low_trust_reason(home, autonomy, board.profile, now)
        or _unmet_reason(home, board.profile)
    )


def social_goal_mentioner(home: Home, mention: Mention) -> str:
    """Return the name of who mentioned the agent, as the line has it; the id if it is gone."""
    line = home.journal.lines(mention.session_id, after=mention.line - 1, limit=1)
    names = [each.speaker_name for each in line if each.speaker_id == mention.principal_id]
    return names[0] if names else mention.principal_id


def _notice_reason(home: Home, board: GoalBoard, now: datetime) -> SocialReason | None:
    """Return the oldest new request for help of another agent in reach."""
    agent = board.profile.agent
    found = [x for x in find_notices_on_peer_board(home.facts, agent) if x.is_new(agent.id, now)]
    asking = [each for each in reversed(found) if each.kind is NoticeKind.HELP]
    if not asking:
        return None
    stored = home.facts.get(agent.id, NOTICES_READ, NOTICES_READ)
    read_to = "" if stored is None else stored.read(NoticesRead).read_to
    reached = {each.agent.id for each in find_peers_in_reach(home.agents, home.facts, agent)}
    new = [each for each in asking if each.id > read_to and each.agent_id in reached]
    if not new:
        return None
    return SocialReason("notice", new[0].agent_name, read=_read(agent.id, stored, new[0]))


def _read(agent_id: str, stored: Document | None, notice: Notice) -> Document:
    mark = NoticesRead(read_to=notice.id)
    if stored is None:
        return new_fact(agent_id, NOTICES_READ, NOTICES_READ, mark)
    return stored.with_body(mark)


def _low_trust_reason(
    home: Home, autonomy: Autonomy, profile: Profile, now: datetime
) -> SocialReason | None:
    if profile.soul.weights.collaboration < _COLLABORATIVE:
        return None
    prior = autonomy.peer_prior
    facts = home.facts.page(profile.agent.id, PEER, limit=_LOOKED_AT)
    peers = {peer.agent_id: peer for peer in (fact.read(Peer) for fact in facts)}
    trusted = ((remembered_peer_trust(peer, now, prior), who) for who, peer in peers.items())
    least, who = min(trusted, default=(1.0, ""))
    if least >= _HARDLY:
        return None
    try:
        name = home.agents.get(who).identity.name
    except NotFound:
        name = who
    return SocialReason("social", name, is_peer_id_in_prompt_untrusted(home.agents, peers[who]))


def find_unmet_agents_for_social_goal(home: Home, profile: Profile) -> tuple[Profile, ...]:
    """Return the active agents in reach that this one never talked to, in an order of its own.

    None for an agent that does not seek out others.
    """
    agent = profile.agent
    if profile.soul.weights.collaboration < _OPEN:
        return ()
    met = {fact.id for fact in home.facts.page(agent.id, PEER_TALK, limit=_TALKS)}
    unmet = (
        each
        for each in find_peers_in_reach(home.agents, home.facts, agent)
        if each.agent.id not in met and each.agent.status is AgentStatus.ACTIVE
    )
    return tuple(sorted(unmet, key=lambda each: stable_id("meets", agent.id, each.agent.id)))


def _unmet_reason(home: Home, profile: Profile) -> SocialReason | None:
    """Return an active agent in reach that this one never talked to, another for each agent."""
    unmet = find_unmet_agents_for_social_goal(home, profile)
    return SocialReason("unmet", unmet[0].identity.name) if unmet else None
