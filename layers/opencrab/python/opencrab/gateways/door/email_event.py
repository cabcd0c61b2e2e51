"""Mails that were taken, read into the words that all chat services share, and handled."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from opencrab.domain.access.authority import Authority
from opencrab.domain.chat.event import ChatEvent, ChatMessageEvent, ChatRoom
from opencrab.domain.conversation.sent_file import SentFile, told_file
from opencrab.domain.document import INSTALLATION_FACTS, new_fact
from opencrab.domain.email.address import EMAIL, one_line_of_email
from opencrab.domain.email.letter import LETTER, LETTER_KEPT, Letter
from opencrab.domain.errors import Changed
from opencrab.domain.value import Language
from opencrab.engine.chat.messages import agent_of_chat, answer_chat_message
from opencrab.engine.chat.sentences import chat_sentence
from opencrab.engine.runtime import Runtime
from opencrab.gateways.door.request import QueuedEvent
from opencrab.ports.conversation.chat_link import Chat, ChatCheck, ChatLink

_NAME = 100


def handle_received_event(runtime: Runtime, received: QueuedEvent) -> None:
    """Let an agent answer a mail, once; if e-mail is disabled by now, nothing is done."""
    chat = runtime.chats.get(EMAIL)
    if chat is None:
        return
    told = json.loads(received.event.text)
    chat = replace(chat, people=chat.people.replaced(agent=told["agent"] or chat.people.agent))
    profile = agent_of_chat(runtime, chat)
    language = Language.EN if profile is None else Language(profile.agent.language)
    agent_name = "" if profile is None else profile.agent.name
    _keep_letter(runtime, chat, received.event.id, told, agent_name)
    link = _SenderLink(chat.link, _sender_name(told, language))
    said = _message(received.event.id, told, language, runtime.clock.now())
    answer_chat_message(runtime, replace(chat, link=link), said)


@dataclass(frozen=True)
class _SenderLink:
    """The link to the mail servers, as far as it concerns one mail, which names its sender."""

    link: ChatLink
    name: str

    def name_of_user(self, room: ChatRoom, user_id: str) -> str | None:  # noqa: ARG002
        return self.name

    def answer_event(self, event: ChatEvent, text: str) -> None:
        self.link.answer_event(event, text)

    def checks(self) -> tuple[ChatCheck, ...]:
        return self.link.checks()


def _message(
    event_id: str, told: Mapping[str, Any], language: Language, now: datetime
) -> ChatMessageEvent:
    return ChatMessageEvent(
        id=event_id,
        room=ChatRoom(kind=EMAIL, id=told["room"]),
        user_id=told["person"],
        at=now.astimezone(UTC),
        message_id=event_id,
        text=_words(told, language),
        holds_others=told["holds_others"],
        files=tuple(_files(told)),
    )


def _files(told: Mapping[str, Any]) -> Iterator[SentFile]:
    """Yield the files of a mail; an event of an earlier release tells only their names."""
    place = told.get("place")
    for number, name in enumerate(told["files"]):
        url = f"{place}.{number}" if place else ""
        yield told_file(name, 0, url, nameless=f"file-{number + 1}")


def _words(told: Mapping[str, Any], language: Language) -> str:
    """Return what the agent reads: the subject of a new conversation, the text, if it is cut."""
    lines = [told["text"]]
    if told["is_new"] and told["subject"]:
        lines.insert(0, chat_sentence("email_subject", language, subject=told["subject"]))
    if told["is_cut"]:
        lines.append(chat_sentence("email_cut", language))
    return "\n\n".join(each for each in lines if each)


def _sender_name(told: Mapping[str, Any], language: Language) -> str:
    """Return a name with its address, so that no two people look the same."""
    address = str(told["address"])
    if not told["is_verified"]:
        shown = one_line_of_email(address, _NAME // 2)
        return chat_sentence("email_unverified", language, address=shown)
    name = told["name"]
    shown = f"{name} ({address})" if name else address
    return shown if len(shown) <= _NAME else one_line_of_email(address, _NAME)


def _keep_letter(
    runtime: Runtime, chat: Chat, event_id: str, told: Mapping[str, Any], agent_name: str
) -> None:
    """Keep what an answer needs of a mail; that of its first delivery counts."""
    is_owner = chat.people.authority(told["person"]) is Authority.OWNER
    letter = Letter(
        address=told["address"],
        alias=told["alias"],
        agent_name=agent_name,
        subject=told["subject"],
        message_id=told["message_id"] or None,
        references=tuple(told["references"]),
        shows_calls=is_owner,
    )
    until = runtime.clock.now() + LETTER_KEPT
    try:
        runtime.home.facts.commit(
            new_fact(INSTALLATION_FACTS, LETTER, event_id, letter, expires_at=until)
        )
    except Changed:
        return
