"""Messages of chat services: which agent they concern, and the turns that answer them."""

import logging
import unicodedata
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from pydantic import ValidationError

from opencrab.domain.access.authority import Authority, Scope, Source
from opencrab.domain.access.principal import Principal
from opencrab.domain.agents.agent import Profile
from opencrab.domain.chat.event import REPLY, Attached, ChatEvent, ChatMessageEvent
from opencrab.domain.chat.people import ChatPerson, GroupRule
from opencrab.domain.conversation.message import Message, Part, Sender, TextPart
from opencrab.domain.conversation.session import Session
from opencrab.domain.document import INSTALLATION_FACTS, new_fact
from opencrab.domain.errors import Changed, NeverSent, NotFound, OpenCrabError
from opencrab.domain.turn.turn import Turn
from opencrab.domain.value import Language
from opencrab.engine.chat.sentences import chat_sentence
from opencrab.engine.conversation.channel_bindings import (
    SessionOpening,
    open_conversation_of_channel,
)
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.admission import admit_turns_of_message
from opencrab.ports.conversation.chat_link import Chat

log = logging.getLogger(__name__)

TOKEN_KEPT = timedelta(days=1)
"""How long a reply token is kept: long after it holds, so that a late retry knows of it."""

_PAGE = 100
_SHORT_ID = 12
_AT = "@\uff20 \u3000"
"""What may stand before a name: at signs and spaces, also wide ones."""


class ChatSilence(StrEnum):
    """The reason why no agent answers a message."""

    UNKNOWN = "unknown"
    GROUP = "group"
    NOBODY = "nobody"
    ATTACHED = "attached"
    EMPTY = "empty"


@dataclass(frozen=True)
class ChatOutcome:
    """The turns that a message started, or the reason why it started none."""

    turns: tuple[Turn, ...] = ()
    silence: ChatSilence | None = None


def answer_chat_message(runtime: Runtime, chat: Chat, said: ChatMessageEvent) -> ChatOutcome:
    """Let the agent of a chat service answer a message, once however often it comes.

    In a group it answers who mentions the bot or begins with the agent's name. A message that is
    neither text nor a file is answered with what the agent can read. Raises Conflict when
    concurrent updates exhaust the retries, Unavailable of the stores and of the service.
    """
    if said.user_id is None:
        return ChatOutcome(silence=ChatSilence.UNKNOWN)
    profile = agent_of_chat(runtime, chat)
    if said.room.is_group and not _is_addressed(chat, said, profile):
        return ChatOutcome(silence=ChatSilence.GROUP)
    if profile is None:
        tell_chat_person(chat, said, chat_sentence("nobody"))
        return ChatOutcome(silence=ChatSilence.NOBODY)
    if not said.text.strip() and not said.files:
        if said.attached is not None:
            return _refuse_attachment(chat, said, said.attached, profile)
        return ChatOutcome(silence=ChatSilence.EMPTY)
    return ChatOutcome(_admit(runtime, chat, said, said.user_id, profile))


def agent_of_chat(runtime: Runtime, chat: Chat) -> Profile | None:
    """Return the agent of a chat service by id or name, else the installation's only one.

    None if there is none, or if it has retired.
    """
    agents, wanted = runtime.home.agents, chat.people.agent.strip()
    if wanted:
        try:
            named: Profile | None = agents.get(wanted)
        except NotFound:
            named = _agent_by_name(runtime, wanted)
        return named if named is not None and named.agent.answers else None
    found = agents.page(after=None, limit=_PAGE)
    living = [each for each in found if each.agent.answers]
    return living[0] if len(living) == 1 and len(found) < _PAGE else None


def name_chat_person(chat: Chat, event: ChatEvent, user_id: str) -> ChatPerson:
    """Return a person with the name that the service tells, else with a part of the id.

    A service that does not tell a name now is no reason to let the person wait, nor is a name that
    is not one line.
    """
    kind = event.room.kind
    try:
        name = chat.link.name_of_user(event.room, user_id)
    except OpenCrabError:
        name = None
    # Short ids of two people may begin alike.
    without = f"{kind} {user_id if len(user_id) <= _SHORT_ID else user_id[:8]}"
    try:
        return ChatPerson(kind=kind, id=user_id, name=name or without)
    except ValidationError:
        return ChatPerson(kind=kind, id=user_id, name=without)


def _agent_by_name(runtime: Runtime, wanted: str) -> Profile | None:
    """Return the only agent with a name, ignoring case; None for none or several."""
    after: str | None = None
    found: list[Profile] = []
    while page := runtime.home.agents.page(after=after, limit=_PAGE):
        found += (each for each in page if each.agent.name.casefold() == wanted.casefold())
        if len(page) < _PAGE:
            break
        after = page[-1].agent.id
    return found[0] if len(found) == 1 else None


def _is_addressed(chat: Chat, said: ChatMessageEvent, profile: Profile | None) -> bool:
    """Check whether a group's message is for the agent."""
    if chat.people.groups is GroupRule.OFF:
        return False
    if said.mentions_bot:
        return True
    if profile is None:
        return False
    name, words = _comparable(profile.agent.name), _comparable(said.text.lstrip(_AT))
    # In Latin letters a name ends where its word ends: Mika is not meant by "Mikado".
    goes_on = f"{name[-1:]}{words[len(name) :][:1]}"
    is_longer = len(goes_on) > 1 and goes_on.isascii() and goes_on.replace("_", "x").isalnum()
    return bool(name) and words.startswith(name) and not is_longer


def _comparable(text: str) -> str:
    """Return a text as people compare names: without case, width, and forms of composition."""
    return unicodedata.normalize("NFKC", text).casefold()


def _refuse_attachment(
    chat: Chat, said: ChatMessageEvent, attached: Attached, profile: Profile
) -> ChatOutcome:
    """Tell the person what the agent can read; a sticker asks for nothing."""
    if attached is not Attached.STICKER:
        language, name = Language(profile.agent.language), profile.agent.name
        tell_chat_person(chat, said, chat_sentence("attached", language, name=name))
    return ChatOutcome(silence=ChatSilence.ATTACHED)


def _admit(
    runtime: Runtime, chat: Chat, said: ChatMessageEvent, user_id: str, profile: Profile
) -> tuple[Turn, ...]:
    person = name_chat_person(chat, said, user_id)
    room, agent_id = said.room, profile.agent.id
    _keep_token(runtime, said)
    opening = SessionOpening(
        agent_ids=(agent_id,), opened_by=person.principal_id, others_read=room.is_group
    )
    session = open_conversation_of_channel(runtime, room.binding, opening, known=(profile,))
    authority = Authority.PUBLIC if said.holds_others else chat.people.authority(user_id)
    message = Message(
        source=Source.WEBHOOK,
        source_id=said.message_id,
        principal_id=person.principal_id,
        sender=Sender(id=person.principal_id, name=person.name),
        authority=authority,
        parts=_parts(
            runtime, chat, said, session, profile=profile, person=person, authority=authority
        ),
        channel=room.channel(said.thread or said.id, awaited=True),
        metadata={f"{room.kind}_message": said.message_id},
    )
    return admit_turns_of_message(runtime, session.id, message, only=(agent_id,))


def _parts(
    runtime: Runtime,
    chat: Chat,
    said: ChatMessageEvent,
    session: Session,
    *,
    profile: Profile,
    person: ChatPerson,
    authority: Authority,
) -> tuple[Part, ...]:
    """Return a message's text and files; what else it has is named below the text."""
    text = said.text
    if said.attached is not None:
        language = Language(profile.agent.language)
        what = chat_sentence(f"attached_{said.attached}", language)
        note = chat_sentence("attached_beside", language, what=what)
        text = "\n".join(each for each in (text, note) if each.strip())
    if not said.files:
        return (TextPart(text=text),)
    from opencrab.engine.attachments.received_files import (  # noqa: PLC0415 - seldom needed
        MessageFiles,
        parts_of_message_with_files,
    )

    scope = Scope.OWNER if authority is Authority.OWNER else Scope.CHAT
    principal = Principal(id=person.principal_id, name=person.name, scope=scope)
    files = MessageFiles(
        service=said.room.kind,
        message_id=said.message_id,
        files=said.files,
        authority=authority,
        source=chat.files,
        owner=lambda _session: principal,
    )
    return parts_of_message_with_files(runtime, session, profile.agent.id, text, files)


def _keep_token(runtime: Runtime, said: ChatMessageEvent) -> None:
    """Keep the reply token of an event; that of its first delivery counts."""
    token = said.token()
    if token is None:
        return
    until = runtime.clock.now() + TOKEN_KEPT
    try:
        runtime.home.facts.commit(
            new_fact(INSTALLATION_FACTS, REPLY, said.id, token, expires_at=until)
        )
    except Changed:
        return


def tell_chat_person(chat: Chat, event: ChatEvent, text: str) -> None:
    """Tell the person behind an event something at once, at most once.

    Raises NeverSent; what cannot be told otherwise is logged.
    """
    try:
        chat.link.answer_event(event, text)
    except NeverSent:
        raise
    except OpenCrabError as error:
        log.warning("cannot answer an event: id=%s, error=%s", event.id, error.message)
