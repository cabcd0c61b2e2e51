"""Incoming: what a chat service tells of a person, in words that all services share."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated

from pydantic import BeforeValidator, Field, StringConstraints

from opencrab.domain.conversation.message import Channel
from opencrab.domain.conversation.sent_file import SentFile
from opencrab.domain.value import MESSAGE_BYTES, Text, Value, value_with_surrogates_joined

REPLY = "chat_reply"
"""The kind of installation documents that hold a reply token; the id is the event's."""

ServiceId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_\-.]{1,64}$")]
"""An id of a chat service: of a user, a group, an event or a message."""

TOKEN_SURE = timedelta(seconds=50)
"""How long after its event a reply token surely holds: LINE guarantees one minute."""


class Attached(StrEnum):
    """What a message has beside text and files, and no agent takes."""

    VIDEO = "video"
    AUDIO = "audio"
    LOCATION = "location"
    STICKER = "sticker"
    OTHER = "other"


class ReplyToken(Value):
    """A token by which one event can be answered once, without cost, until `until`.

    `attempts` counts how often that was tried.
    """

    token: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_\-]{1,200}$")] = Field(repr=False)
    until: datetime
    attempts: int = 0


class ChatRoom(Value):
    """Where something was said: `id` is a user's in private, else the group's."""

    kind: str
    id: ServiceId
    is_group: bool = False

    @property
    def binding(self) -> str:
        """The id of the room in its binding to a session."""
        return f"{self.kind}.{self.id}"

    def channel(self, event_id: str | None = None, *, awaited: bool = False) -> Channel:
        """Return the channel for answers: the room, or the answer to an event in it."""
        address = self.id if event_id is None else f"{self.id}/{event_id}"
        return Channel(kind=self.kind, address=address, awaited=awaited)


class ChatEvent(Value):
    """One event of a chat service; its id is the same however often it comes.

    `user_id` is None where the service does not tell who it was; `thread` is the one to answer in.
    """

    id: ServiceId
    room: ChatRoom
    user_id: ServiceId | None
    at: datetime
    reply_token: str | None = Field(default=None, repr=False)
    thread: ServiceId | None = None

    def token(self) -> ReplyToken | None:
        """Return the token by which the event can be answered, None without one."""
        if self.reply_token is None:
            return None
        return ReplyToken(token=self.reply_token, until=self.at + TOKEN_SURE)


def _within_message(text: str) -> str:
    """Return what a message can hold of a text: no service tells its sender what it cannot."""
    whole: str = value_with_surrogates_joined(text)
    return whole.replace("\0", "").encode()[:MESSAGE_BYTES].decode("utf-8", "ignore")


class ChatMessageEvent(ChatEvent):
    """A person's message; `attached` says what else it has beside text and files.

    With `holds_others` it has words of others in it, and counts as theirs.
    """

    message_id: ServiceId
    text: Annotated[Text, BeforeValidator(_within_message)] = ""
    mentions_bot: bool = False
    attached: Attached | None = None
    files: tuple[SentFile, ...] = ()
    holds_others: bool = False


class ChatButtonEvent(ChatEvent):
    """A person's press of a button; `data` is what we put into it."""

    data: Annotated[Text, StringConstraints(max_length=300)]


def chat_address(channel: Channel) -> tuple[str, str | None]:
    """Split a channel's address into the room's id and the event's id (None without one)."""
    room_id, _, event_id = channel.address.partition("/")
    return room_id, event_id or None
