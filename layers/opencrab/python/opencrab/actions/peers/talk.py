"""Talking to another agent: one message in the direct session of both, which the peer answers."""

from contextlib import suppress
from typing import Annotated

from pydantic import Field

from opencrab.actions.peers.directory import find_peer_by_name, group, require_insider_among_peers
from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.access.impact import Impact
from opencrab.domain.agents.agent import Profile
from opencrab.domain.conversation.loop_guard import minhash_of_conversation_message
from opencrab.domain.conversation.message import Message, Sender, TextPart
from opencrab.domain.conversation.session import SessionStatus
from opencrab.domain.document import new_fact
from opencrab.domain.errors import Invalid, NotFound, Refused
from opencrab.domain.identifier import stable_id
from opencrab.domain.peers.talk import (
    HOPS,
    KEPT,
    MOST_HOPS,
    OPENED_BY_ITSELF,
    PEER_TALK,
    TALK_ITEM,
    PeerTalk,
    peer_session,
    require_new_question_to_peer,
)
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.turn.due_item import DueItem
from opencrab.domain.value import Language, ShortText, Value
from opencrab.ports.turn.action import ActionContext, one_line

__all__ = ["group", "message_to_peer", "sender_of_peer_message", "talk_to_peer"]

_PURPOSE, _NAME = 200, 100
_ABOUT = {Language.EN: "[Purpose: {purpose}]", Language.JA: "[用件: {purpose}]"}


class TalkToPeer(Value):
    peer: ShortText = Field(description="Name or id, as in list_peers")
    purpose: Annotated[ShortText, Field(min_length=1, max_length=300)] = Field(
        description="What you want to reach"
    )
    message: ShortText = Field(min_length=1)
    hops: int = Field(HOPS, ge=1, le=MOST_HOPS, description="Most turns that it may cause")


@group.action(
    impact=Impact.SELF,
    effect=Effect.TRANSACTIONAL,
    sentences=("Write to {peer}: {message}", "{peer}に書く: {message}"),
    ja="ほかのエージェントに直接話しかけます。返事は出来事として、また待っている目標に届きます。",
)
def talk_to_peer(arguments: TalkToPeer, context: ActionContext) -> ActionResult:
    """Write to another agent directly; the answer comes as an event and to a goal that waits."""
    require_insider_among_peers(context)
    purpose = one_line(arguments.purpose, _PURPOSE)
    if not (purpose and arguments.message.strip()):
        raise Invalid("purpose or message is blank", field="message", cure="write words")
    peer = find_peer_by_name(context, arguments.peer)
    agent, peer_id, now = context.agent, peer.agent.id, context.clock.now()
    stored = context.reach.facts.get(agent.id, PEER_TALK, peer_id)
    marks = minhash_of_conversation_message(f"{purpose}\n{arguments.message}")
    today, asked = require_new_question_to_peer(
        None if stored is None else stored.read(PeerTalk), marks, peer.identity.name, now
    )
    sender = sender_of_peer_message(context)
    place = "" if context.clearance.whole else context.session.id
    session = peer_session(agent.id, peer_id, _session_name(sender, peer), now, place)
    _require_open(context, session.id, peer.identity.name)
    talk = PeerTalk(
        peer_id=peer_id,
        session_id=session.id,
        turn_id=context.turn.id,
        goal="" if context.goal is None else context.goal.id,
        unasked=context.turn.is_autonomous,
        hop_limit=arguments.hops,
        asked=asked,
        said=(marks,),
        day=f"{now:%Y-%m-%d}",
        today=today,
        asked_at=now,
    )
    fact = (
        new_fact(agent.id, PEER_TALK, peer_id, talk) if stored is None else stored.with_body(talk)
    )
    head = _ABOUT[peer.agent.language].format(purpose=purpose)
    item = message_to_peer(context, sender, peer_id, f"{head}\n{arguments.message}")
    return (
        ActionResult.ok(sent_to=peer.identity.name, session_id=session.id)
        .keeping(fact.replaced(expires_at=now + KEPT))
        .sending(item.replaced(session=session, session_id=session.id))
    )


def sender_of_peer_message(context: ActionContext) -> Sender:
    """Return the agent of the turn as the sender of a message to another one."""
    agent_id = context.agent.id
    return Sender(id=agent_id, name=context.reach.agents.get(agent_id).identity.name)


def message_to_peer(context: ActionContext, sender: Sender, peer_id: str, text: str) -> DueItem:
    """Return an agent's message to another one, to be admitted once; its session is not set yet.

    The words are those of a peer, whatever the authority of the turn that writes them.
    """
    key = stable_id("talk", context.key)
    cause = f"{OPENED_BY_ITSELF}#{key}" if context.turn.is_autonomous else key
    return DueItem(
        id=f"{TALK_ITEM}{key}",
        at=context.clock.now(),
        session_id=context.session.id,
        message=Message(
            source=Source.PEER,
            source_id=f"talk#{cause}",
            principal_id=sender.id,
            sender=sender,
            authority=Authority.PEER,
            parts=(TextPart(text=text),),
        ),
        hops=1,
        taint=True,
        payer=context.turn.public_payer,
        only=(peer_id,),
    )


def _require_open(context: ActionContext, session_id: str, name: str) -> None:
    """Raise Refused if an owner has ended the direct session of both agents."""
    sessions = context.reach.sessions
    with suppress(NotFound):
        if sessions and sessions.get(session_id).status is SessionStatus.ENDED:
            raise Refused(
                f"your conversation with {name} was ended for good", cure="continue without it"
            )


def _session_name(sender: Sender, peer: Profile) -> str:
    return one_line(f"{sender.name}, {peer.identity.name}", _NAME)
