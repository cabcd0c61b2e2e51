"""State: what Discord knows of places, people, messages and interactions."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

EPHEMERAL, LOADING = 64, 128
CONTENT_FLAGS = EPHEMERAL | LOADING
EPOCH_MILLISECONDS = 1_420_070_400_000

Standing = Literal["waiting", "failed", "thinking", "answered", "updating", "modal", "choices"]
"""What the user sees of an interaction.

`waiting` turns to `failed` after three seconds ("The application did not respond"); `updating` is a
press that was taken in silence.
"""


@dataclass(frozen=True)
class Person:
    """Somebody who uses Discord."""

    id: str
    name: str
    roles: tuple[str, ...] = ()
    is_bot: bool = False

    @property
    def user(self) -> dict[str, Any]:
        """Discord's user object."""
        return {
            "id": self.id,
            "username": self.name,
            "global_name": self.name,
            "discriminator": "0",
            "avatar": None,
            "public_flags": 0,
            "flags": 0,
            "primary_guild": None,
            **({"bot": True} if self.is_bot else {}),
        }


@dataclass
class Place:
    """A channel: of a server, of a conversation with the bot (`dm`), or of somebody's own.

    In a guest's place the bot is no member: the asker brought it along.
    """

    channel_id: str
    guild_id: str | None = None
    dm: bool = False
    guest: bool = False
    can_view: bool = True
    can_send: bool = True
    name: str | None = None

    @property
    def shown_name(self) -> str:
        """What stands behind the # of a channel."""
        return self.name or f"channel-{self.channel_id[-3:]}"

    @property
    def context(self) -> int:
        """Discord's type of context."""
        if self.guild_id is not None:
            return 0
        return 1 if self.dm else 2


@dataclass(frozen=True)
class File:
    """A file at a message; `url` and `size` are what Discord tells, if it is not the truth."""

    id: str
    name: str
    content: bytes
    media_type: str = "application/octet-stream"
    url: str = ""
    size: int = 0


@dataclass
class Message:
    """A message as it stands, with what it said before; `shown_to` sees it alone."""

    id: str
    channel_id: str
    author: Person
    created_at: datetime
    content: str = ""
    embeds: list[Any] = field(default_factory=list)
    components: list[Any] = field(default_factory=list)
    files: list[File] = field(default_factory=list)
    flags: int = 0
    nonce: str | int | None = None
    interaction_id: str | None = None
    shown_to: str | None = None
    edited_at: datetime | None = None
    deleted: bool = False
    past: list[dict[str, Any]] = field(default_factory=list)
    reactions: list[str] = field(default_factory=list)
    mentions: tuple[Person, ...] = ()

    @property
    def is_loading(self) -> bool:
        """Whether the user sees that the application is thinking."""
        return bool(self.flags & LOADING)

    @property
    def buttons(self) -> list[dict[str, Any]]:
        """All buttons, in their order."""
        rows = [row.get("components", []) for row in self.components if row.get("type") == 1]
        return [each for row in rows for each in row if each.get("type") == 2]

    def button(self, label: str) -> dict[str, Any]:
        """The button with this label or custom id."""
        for each in self.buttons:
            if label in {each.get("label"), each.get("custom_id")}:
                return each
        raise AssertionError(f"no button {label!r} among {self.buttons!r}")

    def json(self, application_id: str) -> dict[str, Any]:
        """Discord's message object."""
        told: dict[str, Any] = {
            "id": self.id,
            "channel_id": self.channel_id,
            "type": 0 if self.interaction_id is None else 20,
            "author": self.author.user,
            "content": self.content,
            "embeds": [_embed(each) for each in self.embeds],
            "components": _numbered(self.components),
            "attachments": [attachment(each, self.channel_id) for each in self.files],
            "flags": self.flags,
            "mentions": [each.user for each in self.mentions],
            "mention_roles": [],
            "mention_everyone": False,
            "pinned": False,
            "tts": False,
            "timestamp": self.created_at.isoformat(),
            "edited_timestamp": None if self.edited_at is None else self.edited_at.isoformat(),
        }
        if self.author.is_bot:
            told["application_id"] = application_id
        if self.nonce is not None:
            told["nonce"] = self.nonce
        return told


@dataclass
class Interaction:
    """One interaction, from the press of a key to what became of it.

    `source` is the message whose button was pressed. `body` and `headers` are what was sent, and
    `status` is what the door answered.
    """

    id: str
    token: str
    kind: int
    place: Place
    person: Person
    payload: dict[str, Any]
    created_at: datetime
    standing: Standing = "waiting"
    inline: bool = False
    acknowledged_at: datetime | None = None
    ephemeral: bool = False
    original: Message | None = None
    source: Message | None = None
    follow_ups: list[Message] = field(default_factory=list)
    modal: dict[str, Any] | None = None
    choices: list[dict[str, Any]] | None = None
    status: int = 0
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def messages(self) -> list[Message]:
        """What the user sees as its answer, in order."""
        first = [] if self.original is None else [self.original]
        return [each for each in (*first, *self.follow_ups) if not each.deleted]

    @property
    def text(self) -> str:
        """All that was answered in words."""
        return "".join(each.content for each in self.messages)


def snowflake(moment: datetime, count: int) -> str:
    """An id made at a moment; the count tells those of one millisecond apart."""
    milliseconds = round(moment.timestamp() * 1_000) - EPOCH_MILLISECONDS
    return str((milliseconds << 22) | (count & 0x3FFFFF))


def is_within(moment: datetime, since: datetime, seconds: float) -> bool:
    """Whether no more than so many seconds have passed."""
    return moment - since <= timedelta(seconds=seconds)


def _numbered(components: list[Any]) -> list[Any]:
    """Components as Discord answers them: each with an id of its own."""
    count = 0

    def numbered(each: dict[str, Any]) -> dict[str, Any]:
        nonlocal count
        count += 1
        told = {"id": count, **each}
        if "components" in each:
            told["components"] = [numbered(inner) for inner in each["components"]]
        return told

    return [numbered(each) for each in components]


def _embed(embed: dict[str, Any]) -> dict[str, Any]:
    """An embed as Discord answers it."""
    fields = [{"inline": False, **each} for each in embed.get("fields") or []]
    return {"type": "rich", **embed, **({"fields": fields} if fields else {})}


def attachment(file: File, channel_id: str) -> dict[str, Any]:
    """Discord's attachment object: other characters than ASCII's stand in its title only."""
    stem, dot, ending = file.name.rpartition(".")
    plain = "".join(each if each.isascii() and each != " " else "_" for each in stem)
    name = f"{plain}{dot}{ending}"
    signed = "ex=68dc7ce1&is=68db2b61&hm=5954f90117ccf8716ffa6c7f97a778a0d039810c&"
    url = (
        file.url or f"https://cdn.discordapp.com/attachments/{channel_id}/{file.id}/{name}?{signed}"
    )
    return {
        "id": file.id,
        "filename": name,
        "size": file.size or len(file.content),
        "url": url,
        "proxy_url": url,
        "content_type": file.media_type,
        **({} if plain == stem else {"title": stem}),
    }
