"""Messages elsewhere: to another conversation or person, or to a group at once; no model is asked.

What is said there costs nothing and wakes nobody. Whom a conversation of others is read by, the
agent's owner decides: such a message has the impact `shared`.
"""

from contextlib import suppress
from typing import Annotated

from pydantic import Field

from opencrab.actions.peers.directory import require_insider_among_peers
from opencrab.actions.peers.invite import group
from opencrab.actions.peers.talk import sender_of_peer_message
from opencrab.domain.access.authority import Source
from opencrab.domain.access.impact import Impact
from opencrab.domain.conversation.message import Message, TextPart
from opencrab.domain.conversation.session import Session, SessionStatus
from opencrab.domain.document import Document, new_fact
from opencrab.domain.errors import Invalid, NotFound, Refused
from opencrab.domain.identifier import stable_id
from opencrab.domain.peers.message import (
    MOST_SESSIONS,
    SENT_MESSAGES,
    SentMessages,
    does_only_owner_read_session,
)
from opencrab.domain.peers.talk import MESSAGE_ITEM
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.turn.due_item import DueItem
from opencrab.domain.value import MessageText, ShortText, Value
from opencrab.ports.conversation.sessions import Sessions
from opencrab.ports.paging import paginate
from opencrab.ports.peers import find_peers_in_reach
from opencrab.ports.turn.action import ActionContext

__all__ = ["group", "send_message"]

_OWNER, _ALL, _AGENTS = "owner", "owner_sessions", "agents"
_LOOKED_AT = 1_000
_CHARACTERS = 1_800


class SendMessage(Value):
    to: Annotated[ShortText, Field(min_length=1, max_length=200)] = Field(
        description="Id of a conversation or person, or owner, owner_sessions, agents"
    )
    content: MessageText


def _impact(arguments: SendMessage, context: ActionContext) -> Impact:
    """Return `self` for what only agents and the owner read, `shared` for all else."""
    wanted, sessions = arguments.to.strip(), context.reach.sessions
    if wanted in {_ALL, _AGENTS}:
        return Impact.SELF
    with suppress(NotFound, Refused, Invalid):
        session = _session(wanted, context)
        if sessions is not None and _is_owners(session, sessions, context):
            return Impact.SELF
    return Impact.SHARED


@group.action(
    impact=Impact.SELF,
    effect=Effect.TRANSACTIONAL,
    sentences=("Send to {to}: {content}", "{to}に送る: {content}"),
    ja="別の会話や人、またはオーナーの全会話(owner_sessions)や全エージェント(agents)に一度だけ伝えます。"
    "返事は待ちません。",
    impact_of=_impact,
)
def send_message(arguments: SendMessage, context: ActionContext) -> ActionResult:
    """Tell another conversation or person, or a group, something once; you wait for no answer.

    `owner_sessions` are all conversations with your owner alone, `agents` all agents in reach. Ask
    one agent with talk_to_peer.
    """
    require_insider_among_peers(context)
    if not arguments.content.strip():
        raise Invalid("content is blank", field="content", cure="write words")
    wanted = arguments.to.strip()
    if wanted == _AGENTS:
        if len(arguments.content) > _CHARACTERS:
            raise Invalid(
                f"at most {_CHARACTERS} characters go to agents", field="content", cure="shorten it"
            )
        found = find_peers_in_reach(context.reach.agents, context.reach.facts, context.agent)
        if not found:
            raise NotFound("no agent is in your reach", cure="continue without them")
        item = _item(context, arguments.content, context.session.id, _AGENTS)
        items: tuple[DueItem, ...] = (item.replaced(only=tuple(x.agent.id for x in found)),)
        told = [each.identity.name for each in found]
    else:
        sessions = _owner_sessions(context) if wanted == _ALL else (_session(wanted, context),)
        items = tuple(_item(context, arguments.content, each.id, each.id) for each in sessions)
        told = [each.id for each in sessions]
    return ActionResult.ok(sent_to=told).keeping(_count(context)).sending(*items)


def _item(context: ActionContext, text: str, session_id: str, place: str) -> DueItem:
    """Return the message to one place, brought there once."""
    turn, sender = context.turn, sender_of_peer_message(context)
    key = stable_id("message", context.key, place)
    return DueItem(
        id=f"{MESSAGE_ITEM}{key}",
        at=context.clock.now(),
        session_id=session_id,
        message=Message(
            source=Source.PEER,
            source_id=f"message#{key}",
            principal_id=sender.id,
            sender=sender,
            authority=turn.authority,
            parts=(TextPart(text=text),),
        ),
        taint=turn.taint,
        payer=turn.public_payer,
    )


def _session(wanted: str, context: ActionContext) -> Session:
    """Return the open conversation of this id, or the newest one with this person alone.

    Raises NotFound, and Refused for the present one and for an ended one.
    """
    sessions = _sessions(context)
    with suppress(NotFound):
        session = sessions.get(wanted)
        if context.agent.id in session.agent_ids:
            _require_other(session, context)
            return session
    person = context.agent.owner if wanted == _OWNER else wanted
    found = _sessions_with(person or "", context)
    if not found:
        raise NotFound(
            f"you have no other conversation {wanted[:100]!r}",
            field="to",
            cure="use an id from search_my_history, or ask an agent with talk_to_peer",
        )
    return found[0]


def _require_other(session: Session, context: ActionContext) -> None:
    if session.id == context.session.id:
        raise Refused("this is the present conversation", field="to", cure="use send_speech")
    if session.status is SessionStatus.ENDED:
        raise Refused("this conversation has ended", field="to", cure="choose another one")


def _owner_sessions(context: ActionContext) -> tuple[Session, ...]:
    found = _sessions_with(context.agent.owner or "", context)[:MOST_SESSIONS]
    if not found:
        raise NotFound("there is no other conversation with your owner alone", field="to")
    return found


def _sessions_with(person: str, context: ActionContext) -> tuple[Session, ...]:
    """Return the agent's other open conversations with this person alone, newest first."""
    sessions, own = _sessions(context), context.agent.id
    found = [
        session
        for _, session in zip(range(_LOOKED_AT), paginate(sessions.page), strict=False)
        if own in session.agent_ids
        and session.created_by == person
        and session.id != context.session.id
        and session.status is not SessionStatus.ENDED
    ]
    found.sort(key=lambda session: session.updated_at, reverse=True)
    alone = (
        s for s in found if does_only_owner_read_session(*sessions.get_with_access(s.id), person)
    )
    return tuple(each for _, each in zip(range(MOST_SESSIONS), alone, strict=False))


def _is_owners(session: Session, sessions: Sessions, context: ActionContext) -> bool:
    owner = context.agent.owner or ""
    return does_only_owner_read_session(*sessions.get_with_access(session.id), owner)


def _sessions(context: ActionContext) -> Sessions:
    if context.reach.sessions is None:
        raise Refused("other conversations cannot be reached here", cure="continue without them")
    return context.reach.sessions


def _count(context: ActionContext) -> Document:
    """Return the count of messages with this one; raises Refused for one too many."""
    agent_id, now = context.agent.id, context.clock.now()
    stored = context.reach.facts.get(agent_id, SENT_MESSAGES, SENT_MESSAGES)
    if stored is None:
        return new_fact(agent_id, SENT_MESSAGES, SENT_MESSAGES, SentMessages().with_one_more(now))
    return stored.with_body(stored.read(SentMessages).with_one_more(now))
