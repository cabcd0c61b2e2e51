"""The agents that an agent may reach: listed, and found by name."""

import unicodedata

from opencrab.actions.registry import Group
from opencrab.domain.access.authority import Authority
from opencrab.domain.access.impact import Impact
from opencrab.domain.agents.agent import Agent, Profile
from opencrab.domain.errors import Invalid, NotFound, Refused
from opencrab.domain.mcp.tool import REMOTE_PEER
from opencrab.domain.memory.peer import PEER, Peer, remembered_peer_trust
from opencrab.domain.peers.talk import PEER_TALK, PeerTalk
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.value import Value
from opencrab.ports.peers import find_peers_in_reach
from opencrab.ports.turn.action import ActionContext, one_line

__all__ = ["find_peer_by_name", "group", "list_peers", "require_insider_among_peers"]

_SHOWN, _KNOWN = 50, 200
_PURPOSE = 200
_OUTSIDERS = {Authority.PEER, Authority.PUBLIC}

group = Group("peers")


class ListPeers(Value):
    pass


@group.action(
    impact=Impact.READ,
    effect=Effect.PURE,
    sentences=("List the other agents", "ほかのエージェントの一覧を見る"),
    ja="話しかけられるほかのエージェントの一覧です。名前、目的、信頼、最後に話した時刻がわかります。",
)
def list_peers(arguments: ListPeers, context: ActionContext) -> ActionResult:
    """List the other agents that you can reach: name, purpose, trust, and last contact."""
    require_insider_among_peers(context)
    found = find_peers_in_reach(context.reach.agents, context.reach.facts, context.agent)
    if not context.clearance.whole:
        # Others hear the answer: they learn who is there, and nothing of what the agent thinks.
        return ActionResult.ok(peers=[{"name": each.identity.name} for each in found[:_SHOWN]])
    facts, agent_id = context.reach.facts, context.agent.id
    known = {x.id: x.read(Peer) for x in facts.page(agent_id, PEER, limit=_KNOWN)}
    talks = {x.id: x.read(PeerTalk) for x in facts.page(agent_id, PEER_TALK, limit=_KNOWN)}
    peers = [
        _peer(context, each, known.get(each.agent.id), talks.get(each.agent.id))
        for each in found[:_SHOWN]
    ]
    more: dict[str, object] = {"not_shown": len(found) - _SHOWN} if len(found) > _SHOWN else {}
    if elsewhere := _agents_elsewhere(context):
        more["elsewhere"] = [{"name": name, "ask_with": with_} for name, with_ in elsewhere.items()]
    return ActionResult.ok(peers=peers, **more)


def require_insider_among_peers(context: ActionContext) -> None:
    """Raise Refused in a turn on behalf of another agent or of the public."""
    if context.turn.authority in _OUTSIDERS:
        raise Refused(
            "other agents are no business of whom this turn is for", cure="answer without them"
        )


def find_peer_by_name(context: ActionContext, name: str) -> Profile:
    """Return the agent in reach with this name or id; raises NotFound, and Invalid for several."""
    found = find_peers_in_reach(context.reach.agents, context.reach.facts, context.agent)
    wanted = _plain(name)
    by_id = [each for each in found if each.agent.id == name.strip()]
    named = by_id or [
        each for each in found if wanted in {_plain(each.identity.name), _plain(each.agent.name)}
    ]
    if not named and (action := _agents_elsewhere(context).get(name.strip())) is not None:
        raise Refused(
            f"{name[:100]} is an agent elsewhere", cure=f"ask it with the action {action}"
        )
    if not named:
        raise NotFound(
            f"no agent {name[:100]!r} is in your reach", cure="choose one from list_peers"
        )
    if len(named) > 1:
        ids = ", ".join(each.agent.id for each in named)
        raise Invalid(f"several agents are named {name[:100]!r}", field="peer", cure=f"use {ids}")
    return named[0]


def _agents_elsewhere(context: ActionContext) -> dict[str, str]:
    """Return the agents of other installations that the turn may ask, each with its action."""
    agent, routing = context.agent, context.reach.models.routing
    return {
        action.group.removeprefix(REMOTE_PEER): action.name
        for action in context.actions.allowed(agent, routing, context.turn.authority)
        if action.group.startswith(REMOTE_PEER)
    }


def _peer(
    context: ActionContext, profile: Profile, peer: Peer | None, talk: PeerTalk | None
) -> dict[str, object]:
    agent, now = profile.agent, context.clock.now()
    met = [each for each in (peer and peer.last_at, talk and talk.asked_at) if each]
    shown: dict[str, object] = {"name": profile.identity.name, "id": agent.id}
    if purpose := _purpose(context.agent, agent):
        shown["purpose"] = purpose
    # Without a collaboration there is only a prior, which says nothing about this agent.
    worked = peer is not None and peer.interactions > 0
    shown["trust"] = (
        round(remembered_peer_trust(peer, now, 0.0), 2) if peer and worked else "unknown"
    )
    shown["last_contact"] = max(met).isoformat(timespec="minutes") if met else None
    if talk is not None and talk.is_open(now):
        shown["talk"] = "open"
    return shown


def _purpose(own: Agent, other: Agent) -> str:
    """Return what an agent of the same owner is for; another owner's words are not shown."""
    return one_line(other.purpose, _PURPOSE) if own.owner == other.owner else ""


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().strip()
