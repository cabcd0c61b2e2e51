"""Reading: what hikari tells of messages and reactions, as OpenCrab's API takes it."""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import hikari

from opencrab.domain.conversation.sent_file import FILES, URL_CHARACTERS, sent_file_name
from opencrab.domain.text.hidden import name_without_hidden_text
from opencrab.gateways.discord_relay.relay import RelayMessage

CHARACTERS = 8_000
_NAME = 100
_SAID = {hikari.MessageType.DEFAULT, hikari.MessageType.REPLY}
_HEARD = "👍👎🛑"
_USER = re.compile(r"<@!?(\d+)>")


def message_for_discord_relay(
    message: hikari.Message,
    own_id: str,
    *,
    guild_id: int | None = None,
    member: hikari.Member | None = None,
) -> RelayMessage | None:
    """Convert an ordinary message; None for a system message, such as of a new member.

    `guild_id` and `member` are for a fetched message, which does not contain them.
    """
    if message.type not in _SAID:
        return None
    guild = message.guild_id or guild_id
    member = message.member or member
    roles = () if member is None else member.role_ids
    mentioned = own_id in map(str, message.user_mentions_ids or ())
    author: dict[str, Any] = {
        "id": str(message.author.id),
        "name": _display_name(message.author if member is None else member),
        "role_ids": [str(role) for role in roles if role != guild][:250],
        "is_bot": message.author.is_bot or message.webhook_id is not None,
    }
    body: dict[str, Any] = {
        "id": str(message.id),
        "channel_id": str(message.channel_id),
        "guild_id": None if guild is None else str(guild),
        "author": author,
        "content": _content(message, own_id),
        "mentions_bot": mentioned,
    }
    files = list(_files(message.attachments))
    if files:
        body["files"] = files
    answered = message.message_reference and message.message_reference.id
    if message.type is hikari.MessageType.REPLY and answered:
        body["reference"] = str(answered)
    return RelayMessage(
        id=body["id"],
        channel_id=body["channel_id"],
        author_id=author["id"],
        guild_id=body["guild_id"],
        mentions_bot=mentioned,
        body=body,
    )


def reaction_for_discord_relay(event: hikari.ReactionAddEvent) -> dict[str, Any] | None:
    """Convert a thumb or a stop sign; None for other reactions."""
    emoji = str(event.emoji_name or "")
    if emoji[:1] not in _HEARD or not emoji:
        return None
    member = event.member if isinstance(event, hikari.GuildReactionAddEvent) else None
    guild_id = event.guild_id if isinstance(event, hikari.GuildReactionAddEvent) else None
    return {
        "channel_id": str(event.channel_id),
        "guild_id": None if guild_id is None else str(guild_id),
        "message_id": str(event.message_id),
        "author": {
            "id": str(event.user_id),
            "name": _display_name(member) if member else str(event.user_id),
            "role_ids": [str(r) for r in member.role_ids if r != guild_id] if member else [],
            "is_bot": bool(member and member.is_bot),
        },
        "emoji": emoji,
    }


def relay_message_without_addresses(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message as servers of earlier versions take it: of its files the names only."""
    return {**body, "files": [each["name"] for each in body["files"]]}


def _files(attachments: Sequence[hikari.Attachment]) -> Iterator[dict[str, Any]]:
    for each in attachments[:FILES]:
        url = str(each.url)
        yield {
            "name": _name(sent_file_name(each.filename, each.title or "")) or "?",
            "size": max(each.size, 0),
            "url": url if len(url) <= URL_CHARACTERS else "",
        }


def _content(message: hikari.Message, own_id: str) -> str:
    """Return the text with our names in place of ids, and without the bot's mention at the start.

    Other users choose their names themselves, and would put words into the author's mouth: they
    stay `<@id>`.
    """
    known: Mapping[Any, Any] = message.user_mentions or {}
    ours = {own_id, str(message.author.id)}
    names = {str(each): _display_name(user) for each, user in known.items() if str(each) in ours}
    text = (message.content or "").strip()
    first = _USER.match(text)
    if first and first[1] == own_id:
        text = text[first.end() :].lstrip(" ,、:\n")

    def named(found: re.Match[str]) -> str:
        return f"@{names[found[1]]}" if found[1] in names else found[0]

    return _USER.sub(named, text).replace("\x00", "")[:CHARACTERS]


def _display_name(user: hikari.PartialUser) -> str:
    """Return the displayed name: of the server, else the global one, else the unique one."""
    for name in (getattr(user, "nickname", None), user.global_name, user.username):
        if isinstance(name, str) and (shown := _name(name)):
            return shown
    return str(user.id)


def _name(text: str) -> str:
    """Return a name as one line, cut to the maximum length."""
    plain = name_without_hidden_text(unicodedata.normalize("NFC", text))
    shown = "".join(c for c in plain if unicodedata.category(c) not in {"Cc", "Cs", "Zl", "Zp"})
    return shown.strip()[:_NAME].strip()
