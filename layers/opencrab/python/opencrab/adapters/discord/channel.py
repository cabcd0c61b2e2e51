"""Channel: utterances and panels on Discord, by an interaction's token or as the bot."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Any

from opencrab.adapters.discord.rendering import WORDS, discord_message_of_task_panel
from opencrab.domain.approvals.buttons import buttons_below_approval
from opencrab.domain.conversation.message import Channel as Place
from opencrab.domain.conversation.message import Utterance
from opencrab.domain.discord.community import (
    KIND,
    PRESENCE,
    REPLY,
    InteractionReply,
    Presence,
    discord_address,
)
from opencrab.domain.document import INSTALLATION_FACTS, Document
from opencrab.domain.errors import Changed, Invalid, NeverSent, NotFound, Refused, Unavailable
from opencrab.domain.text.message_split import LIMIT, first_piece_of_text, split_text_to_limit
from opencrab.domain.value import Language
from opencrab.ports.clock import Clock
from opencrab.ports.conversation.channel import Panel
from opencrab.ports.discord import Attachment, Discord, Payload
from opencrab.ports.documents import Documents

MOST_PIECES = 5
"""Messages that one speech may take; a longer one travels as a file."""

FILE = "answer.md"

NONCE_KNOWN = timedelta(seconds=150)
"""How long Discord surely knows a nonce: it says "the past few minutes"."""


@dataclass(frozen=True)
class RenderedMessage:
    """One Discord message, with its attachments."""

    message: Payload
    files: tuple[Attachment, ...] = ()


_PLAIN, _GREEN, _RED = 2, 3, 4
"""Styles of buttons."""


class _Way(Enum):
    """The Discord call that sends a piece of an utterance."""

    ANSWER = auto()
    EDIT = auto()
    FOLLOW_UP = auto()
    POST = auto()


class DiscordChannel:
    """`ports.conversation.channel.DeliveryChannel` for Discord.

    The first piece of an answer that a user waits for replaces the "thinking" placeholder, or the
    preview of the answer: that also when the interaction token has expired. The rest, and answers
    without a preview whose token has expired, are posted by the bot. A reply that is ephemeral or
    for a guest is sent by the interaction token or not at all.
    """

    def __init__(self, discord: Discord, facts: Documents, clock: Clock) -> None:
        self._discord = discord
        self._facts = facts
        self._clock = clock

    def piece_count(self, utterance: Utterance) -> int:
        if len(utterance.text.encode()) <= LIMIT:
            return 1
        _, _, reply = self._kept(utterance.channel)
        return max(len(discord_messages_of_utterance(utterance, reply)), 1)

    def is_idempotent(self, utterance: Utterance) -> bool:
        """Check whether sending twice shows one message: edits do, posts while a nonce counts."""
        if not utterance.text.strip():
            return True
        since = utterance.since or utterance.updated_at
        now, _, reply = self._kept(utterance.channel)
        way, before = _way(utterance, reply, now), _way(utterance, reply, since)
        if way in _EDITS and before in _EDITS:
            return True
        return way is before is _Way.POST and now - since < NONCE_KNOWN

    def send(self, utterance: Utterance) -> None:
        now, kept, reply = self._kept(utterance.channel)
        shown = discord_messages_of_utterance(utterance, reply)
        way = _way(utterance, reply, now)
        if utterance.piece >= len(shown):
            self._take_away(reply, way)
            return
        face = shown[utterance.piece]
        if reply is None or way is _Way.POST:
            self._post(utterance, reply, face)
        elif way is _Way.FOLLOW_UP:
            self._discord.follow_up(reply, _quiet(face, reply), *face.files)
        elif way is _Way.EDIT:
            self._edit(utterance, kept, reply, face)
        else:
            self._answer(utterance, kept, reply, face)

    def show(self, place: Place, panel: Panel) -> None:
        now, kept, reply = self._kept(place)
        if kept is None or reply is None:
            return
        message = discord_message_of_task_panel(panel)
        if reply.is_open(now):
            message_id = self._discord.edit_reply(reply, message)
            if message_id and message_id != reply.message_id:
                self._keep(kept.with_body(reply.replaced(message_id=message_id)))
        elif reply.message_id is not None and not reply.is_by_token_only:
            self._discord.edit(reply.channel_id, reply.message_id, message)

    def _answer(
        self,
        utterance: Utterance,
        kept: Document | None,
        reply: InteractionReply,
        face: RenderedMessage,
    ) -> None:
        """Edit the interaction's reply; on NotFound edit it as the bot."""
        try:
            self._discord.edit_reply(reply, _whole(face), *face.files)
        except NotFound:
            if reply.is_by_token_only:
                raise
            self._edit(utterance, kept, reply, face)

    def _edit(
        self,
        utterance: Utterance,
        kept: Document | None,
        reply: InteractionReply,
        face: RenderedMessage,
    ) -> None:
        """Edit the message of the preview as the bot.

        Without one, expire the stored token and post.
        """
        if reply.message_id is not None:
            with suppress(NotFound):
                self._discord.edit(reply.channel_id, reply.message_id, _whole(face), *face.files)
                return
        if kept is None:
            raise NotFound("the answer to the interaction is gone")
        self._keep(kept.replaced(version=kept.version + 1, expires_at=self._clock.now()))
        self._post(utterance, reply, face)

    def _take_away(self, reply: InteractionReply | None, way: _Way) -> None:
        """Delete what stands in the place of an answer that does not come."""
        if reply is None or way not in _EDITS:
            return
        if way is _Way.ANSWER:
            with suppress(NotFound):
                self._discord.delete_reply(reply)
                return
        if reply.message_id is not None:
            self._discord.delete(reply.channel_id, reply.message_id)

    def _post(
        self, utterance: Utterance, reply: InteractionReply | None, face: RenderedMessage
    ) -> None:
        if reply is not None and reply.is_by_token_only:
            raise Refused(
                "the interaction's 15-minute reply window has expired, and the reply may not be "
                "posted in the channel",
                cure="give the command again",
            )
        channel_id, interaction_id = discord_address(utterance.channel)
        presence = self._presence(utterance.agent_id)
        spot = None if presence is None else presence.spot(channel_id)
        if interaction_id is None and spot is not None and not spot.writes:
            raise Refused(
                f"agent {utterance.agent_id!r} may not write in channel {channel_id!r}",
                cure=f"set writes for it with PUT /api/agents/{utterance.agent_id}/discord",
            )
        # Who presses a button is told to the bot that posted it, and only our own door listens.
        is_own = presence is not None and "components" not in face.message
        token = presence.token_secret if presence is not None and is_own else None
        nonce = f"{utterance.nonce}-{utterance.piece}"
        reference = _reference(utterance, channel_id)
        if reference:
            # Refused where the bot may not read the history; the answer itself may still be posted.
            with suppress(Refused, Invalid, NotFound):
                referring = {**face.message, **reference}
                self._discord.post(channel_id, referring, *face.files, nonce=nonce, token=token)
                return
        self._discord.post(channel_id, face.message, *face.files, nonce=nonce, token=token)

    def _presence(self, agent_id: str) -> Presence | None:
        fact = self._get(PRESENCE, agent_id)
        return None if fact is None else fact.read(Presence)

    def _kept(self, place: Place) -> tuple[datetime, Document | None, InteractionReply | None]:
        """Return now and the unexpired reply document of an address's interaction.

        None without one.
        """
        _, interaction_id = discord_address(place)
        kept = None if interaction_id is None else self._get(REPLY, interaction_id)
        now = self._clock.now()
        if kept is None or (kept.expires_at is not None and kept.expires_at <= now):
            return now, None, None
        return now, kept, kept.read(InteractionReply)

    def _get(self, kind: str, fact_id: str) -> Document | None:
        """Read a document before anything is sent; raise NeverSent if the store is unavailable."""
        try:
            return self._facts.get(INSTALLATION_FACTS, kind, fact_id)
        except Unavailable as error:
            raise NeverSent(error.message, cure=error.cure) from error

    def _keep(self, fact: Document) -> None:
        """Store a reply document; keep the other version if it was changed concurrently."""
        try:
            with suppress(Changed):
                self._facts.commit(fact)
        except Unavailable as error:
            raise NeverSent(error.message, cure=error.cure) from error


_EDITS = frozenset({_Way.ANSWER, _Way.EDIT})
"""The ways that edit one message, the same at every repeat."""


def discord_messages_of_utterance(
    utterance: Utterance, reply: InteractionReply | None
) -> tuple[RenderedMessage, ...]:
    """Render an utterance as Discord messages, in order; empty for an empty text.

    A text that needs more than MOST_PIECES messages, or more than one for a guest, becomes a file.
    """
    is_guest = reply is not None and reply.is_guest
    text = utterance.text
    # Most answers are one message.
    is_one = text.strip() and _units(text) <= LIMIT
    shown = (text,) if is_one else split_text_to_limit(text)
    rows = _rows(utterance, reply)
    below = {"components": rows} if rows else {}
    if len(shown) > (1 if is_guest else MOST_PIECES):
        return (_as_file(text, reply, below),)
    last = len(shown) - 1
    return tuple(
        RenderedMessage({"content": piece, **(below if place == last else {})})
        for place, piece in enumerate(shown)
    )


def _as_file(
    text: str, reply: InteractionReply | None, below: Mapping[str, Any]
) -> RenderedMessage:
    notice = _localized_text("file", reply, "\n")
    content = f"{first_piece_of_text(text, LIMIT - len(notice) - 1)}\n{notice}"
    file = Attachment(FILE, text.encode("utf-8", "replace"), "text/markdown; charset=utf-8")
    return RenderedMessage({"content": content, **below}, (file,))


def _rows(utterance: Utterance, reply: InteractionReply | None) -> list[dict[str, Any]]:
    """Return the buttons: of an approval, or thumbs up and down below an awaited answer.

    A question can be approved beside it only if it shows the whole call; else it can be opened.
    """
    if utterance.approval is not None:
        is_whole = _units(utterance.text) <= LIMIT
        found = buttons_below_approval(utterance.approval, utterance.text, is_whole=is_whole)
        buttons = [
            _button(_localized_text("approve", reply, " / "), found.approve, _GREEN)
            if found.approve
            else _button(_localized_text("open", reply, " / "), found.show, _PLAIN),
            _button(_localized_text("reject", reply, " / "), found.reject, _RED),
        ]
    elif utterance.closes and utterance.channel.awaited and reply is not None:
        name = f"oc:fb:{utterance.turn_id}"
        buttons = [_button("👍", f"{name}:u", _PLAIN), _button("👎", f"{name}:d", _PLAIN)]
    else:
        return []
    return [{"type": 1, "components": buttons}]


def _localized_text(key: str, reply: InteractionReply | None, between: str) -> str:
    """Return a text in the language of the interaction, or in all languages without one."""
    languages = tuple(Language) if reply is None else (reply.language,)
    return between.join(WORDS[key][language] for language in languages)


def _way(utterance: Utterance, reply: InteractionReply | None, at: datetime) -> _Way:
    is_first = utterance.opens and utterance.piece == 0
    if reply is None or not reply.is_open(at):
        is_previewed = reply is not None and reply.message_id is not None and is_first
        return _Way.EDIT if is_previewed else _Way.POST
    if is_first:
        return _Way.ANSWER
    return _Way.FOLLOW_UP if reply.is_by_token_only else _Way.POST


def _reference(utterance: Utterance, channel_id: str) -> dict[str, object]:
    """Return the field by which the first piece is a reply; {} if to nothing in this channel."""
    place, _, message_id = utterance.reply_to.rpartition("/")
    if utterance.piece or place != f"{KIND}:{channel_id}" or not message_id.isdecimal():
        return {}
    # Without the message, which may be deleted by now, it is posted all the same.
    return {"message_reference": {"message_id": message_id, "fail_if_not_exists": False}}


def _whole(face: RenderedMessage) -> dict[str, object]:
    """Return a message that leaves nothing of the one that it replaces."""
    return {"components": [], **face.message}


def _quiet(face: RenderedMessage, reply: InteractionReply) -> dict[str, object]:
    return {**face.message, "flags": 64} if reply.is_ephemeral else dict(face.message)


def _button(label: str, custom_id: str, style: int) -> dict[str, Any]:
    return {"type": 2, "style": style, "label": label, "custom_id": custom_id}


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
