"""Channel: utterances and panels on Discord, by an interaction's token or as the bot."""

from contextlib import suppress
from datetime import datetime, timedelta
from enum import Enum, auto

from opencrab.adapters.discord import rendering
from opencrab.adapters.discord.rendering import RenderedMessage
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
from opencrab.domain.text.message_split import LIMIT
from opencrab.ports.clock import Clock
from opencrab.ports.conversation.channel import Panel
from opencrab.ports.discord import Discord
from opencrab.ports.documents import Documents

NONCE_KNOWN = timedelta(seconds=150)
"""How long Discord surely knows a nonce: it says "the past few minutes"."""


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
        return max(len(rendering.discord_messages_of_utterance(utterance, reply)), 1)

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
        shown = rendering.discord_messages_of_utterance(utterance, reply)
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
        message = rendering.discord_message_of_task_panel(panel)
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
