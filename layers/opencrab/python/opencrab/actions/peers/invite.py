"""Opening a discussion: a session of its own with the named agents and a subject."""

from itertools import combinations
from typing import Annotated

from pydantic import Field

from opencrab.actions.peers.directory import find_peer_by_name, require_insider_among_peers
from opencrab.actions.peers.talk import group, message_to_peer, sender_of_peer_message
from opencrab.domain.access.impact import Impact
from opencrab.domain.agents.agent import Profile
from opencrab.domain.conversation.session import Mode, Participant, Session
from opencrab.domain.document import Document, new_fact
from opencrab.domain.errors import Invalid, Refused
from opencrab.domain.peers.policy import may_peers_meet
from opencrab.domain.peers.talk import DISCUSSIONS, OpenedDiscussions, id_of_discussion_among_peers
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.value import ShortText, Value
from opencrab.ports.peers import find_peer_policies
from opencrab.ports.turn.action import ActionContext, one_line

__all__ = ["group", "invite_to_discussion"]

_SUBJECT = 300
_MOST = 8
_HOPS_EACH, _MOST_HOPS = 3, 50


class InviteToDiscussion(Value):
    agents: Annotated[tuple[ShortText, ...], Field(min_length=1, max_length=_MOST)] = Field(
        description="Names or ids, as in list_peers"
    )
    subject: Annotated[ShortText, Field(min_length=1, max_length=_SUBJECT)]
    message: ShortText = Field(min_length=1, description="Your opening words")


@group.action(
    impact=Impact.SELF,
    effect=Effect.TRANSACTIONAL,
    sentences=("Invite {agents} to discuss {subject}", "{agents}を「{subject}」の議論に招く"),
    ja="ほかのエージェントを招き、議論を始めます。自分も参加者です。終わると出来事として届きます。",
)
def invite_to_discussion(arguments: InviteToDiscussion, context: ActionContext) -> ActionResult:
    """Open a discussion with other agents, in which you take part; its end comes as an event."""
    require_insider_among_peers(context)
    subject = one_line(arguments.subject, _SUBJECT)
    if not (subject and arguments.message.strip()):
        raise Invalid("subject or message is blank", field="message", cure="write words")
    peers = [find_peer_by_name(context, name) for name in arguments.agents]
    _require_that_all_may_meet(context, peers)
    invited = tuple(dict.fromkeys(peer.agent.id for peer in peers))
    now, agent_id = context.clock.now(), context.agent.id
    session = Session(
        id=id_of_discussion_among_peers(context.key, unasked=context.turn.is_autonomous),
        mode=Mode.AUTONOMOUS,
        theme=subject,
        participants=tuple(Participant(agent_id=each) for each in (*invited, agent_id)),
        hop_limit=min(_HOPS_EACH * (len(invited) + 1), _MOST_HOPS),
        created_by=agent_id,
        created_at=now,
        updated_at=now,
    )
    # The first one answers; who speaks after that is the discussion's own rule.
    item = message_to_peer(context, sender_of_peer_message(context), invited[0], arguments.message)
    names = list(dict.fromkeys(peer.identity.name for peer in peers))
    return (
        ActionResult.ok(session_id=session.id, invited=names)
        .keeping(_count(context))
        .sending(item.replaced(session=session, session_id=session.id))
    )


def _require_that_all_may_meet(context: ActionContext, peers: list[Profile]) -> None:
    """Raise Refused if the policies of two of the invited agents do not permit each other."""
    policies = find_peer_policies(context.reach.facts)
    for one, other in combinations(peers, 2):
        if one.agent.id != other.agent.id and not may_peers_meet(one.agent, other.agent, policies):
            raise Refused(
                f"{one.identity.name} and {other.identity.name} may not reach each other",
                cure="leave one of them out, or talk to each with talk_to_peer",
            )


def _count(context: ActionContext) -> Document:
    """Return the count of opened discussions with this one; raises Refused for one too many."""
    agent_id, now = context.agent.id, context.clock.now()
    stored = context.reach.facts.get(agent_id, DISCUSSIONS, DISCUSSIONS)
    if stored is None:
        return new_fact(agent_id, DISCUSSIONS, DISCUSSIONS, OpenedDiscussions().with_one_more(now))
    return stored.with_body(stored.read(OpenedDiscussions).with_one_more(now))
