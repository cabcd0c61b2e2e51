"""Channel: utterances and panels on Discord, by an interaction's token or as the bot."""

from contextlib import suppress
from datetime import datetime, timedelta
from enum import Enum, auto

from opencrab.adapters.discord import rendering
from opencrab.adapters.discord.rendering import RenderedMessage
from opencrab.domain.conversation.message import Channel as Place
from opencrab.domain.conversation.message import Utterance
from opencrab.domain.discord.community import (
    PRESENCE,
    REPLY,
    InteractionReply,
    Presence,
    discord_address,
)
from opencrab.domain.document import INSTALLATION_FACTS, Document
from opencrab.domain.errors import Changed, NeverSent, NotFound, Refused, Unavailable
from opencrab.domain.text.message_split import LIMIT
from opencrab.ports.clock import Clock
from opencrab.ports.conversation.channel import Panel
from opencrab.ports.discord import Discord
from opencrab.ports.documents import Documents

NONCE_KNOWN = timedelta(seconds=150)
"""How long Discord surely knows a nonce: it says "the past few minutes"."""


class _Way(Enum):
    """How a piece becomes visible."""

    ANSWER = auto()
    FOLLOW_UP = auto()
    POST = auto()


class DiscordChannel:
    """`ports.conversation.channel.DeliveryChannel` for Discord.

    What answers somebody who waits replaces the mark that the agent is thinking. All else, and
    what comes when the interaction's token is worth nothing any more, is posted as the bot; where
    only who asked may see it, or the bot is a guest, it is said by the token or not at all.
    """

    def __init__(self, discord: Discord, facts: Documents, clock: Clock) -> None:
        self._discord = discord
        self._facts = facts
        self._clock = clock

    def pieces(self, utterance: Utterance) -> int:
        if len(utterance.text.encode()) <= LIMIT:
            return 1
        _, _, reply = self._kept(utterance.channel)
        return max(len(rendering.messages_of_utterance(utterance, reply)), 1)

    def repeatable(self, utterance: Utterance) -> bool:
        """By its place an answer is, by its nonce a post, as long as Discord remembers it."""
        if not utterance.text.strip():
            return True
        since = utterance.since or utterance.updated_at
        now, _, reply = self._kept(utterance.channel)
        way = _way(utterance, reply, now)
        if way is not _way(utterance, reply, since):
            return False
        return way is _Way.ANSWER or (way is _Way.POST and now - since < NONCE_KNOWN)

    def send(self, utterance: Utterance) -> None:
        now, kept, reply = self._kept(utterance.channel)
        shown = rendering.messages_of_utterance(utterance, reply)
        way = _way(utterance, reply, now)
        if utterance.piece >= len(shown):
            if reply is not None and way is _Way.ANSWER:
                self._discord.delete_reply(reply)
            return
        face = shown[utterance.piece]
        if reply is None or way is _Way.POST:
            self._post(utterance, reply, face)
        elif way is _Way.FOLLOW_UP:
            self._discord.follow_up(reply, _quiet(face, reply), *face.files)
        else:
            self._answer(utterance, kept, reply, face)

    def show(self, place: Place, panel: Panel) -> None:
        now, kept, reply = self._kept(place)
        if kept is None or reply is None:
            return
        message = rendering.task_panel_message(panel)
        if reply.is_open(now):
            message_id = self._discord.edit_reply(reply, message)
            if message_id and message_id != reply.message_id:
                self._keep(kept.holding(reply.replaced(message_id=message_id)))
        elif reply.message_id is not None and not _is_by_token_only(reply):
            self._discord.edit(reply.channel_id, reply.message_id, message)

    def _answer(
        self,
        utterance: Utterance,
        kept: Document | None,
        reply: InteractionReply,
        face: RenderedMessage,
    ) -> None:
        """Answer the interaction; when nothing is left of it, its token is not asked again."""
        try:
            self._discord.edit_reply(reply, face.message, *face.files)
        except NotFound:
            if kept is None or _is_by_token_only(reply):
                raise
            over = kept.replaced(version=kept.version + 1, expires_at=self._clock.now())
            self._keep(over)
            self._post(utterance, reply, face)

    def _post(
        self, utterance: Utterance, reply: InteractionReply | None, face: RenderedMessage
    ) -> None:
        if reply is not None and _is_by_token_only(reply):
            raise Refused(
                "the interaction's 15-minute reply window has expired, and the reply may not be "
                "posted in the channel"
            )
        channel_id, interaction_id = discord_address(utterance.channel)
        presence = self._presence(utterance.agent_id)
        spot = None if presence is None else presence.spot(channel_id)
        if interaction_id is None and spot is not None and not spot.writes:
            raise Refused(f"agent {utterance.agent_id!r} may not write in channel {channel_id!r}")
        # Who presses a button is told to the bot that posted it, and only our own door listens.
        is_own = presence is not None and "components" not in face.message
        self._discord.post(
            channel_id,
            face.message,
            *face.files,
            nonce=f"{utterance.nonce}-{utterance.piece}",
            token=presence.token_secret if presence is not None and is_own else None,
        )

    def _presence(self, agent_id: str) -> Presence | None:
        fact = self._get(PRESENCE, agent_id)
        return None if fact is None else fact.read(Presence)

    def _kept(self, place: Place) -> tuple[datetime, Document | None, InteractionReply | None]:
        """The way to answer the interaction that an address names, if there is one by now."""
        _, interaction_id = discord_address(place)
        kept = None if interaction_id is None else self._get(REPLY, interaction_id)
        now = self._clock.now()
        if kept is None or (kept.expires_at is not None and kept.expires_at <= now):
            return now, None, None
        return now, kept, kept.read(InteractionReply)

    def _get(self, kind: str, fact_id: str) -> Document | None:
        """A fact, which is read before anything is sent."""
        try:
            return self._facts.get(INSTALLATION_FACTS, kind, fact_id)
        except Unavailable as error:
            raise NeverSent(error.message, cure=error.cure) from error

    def _keep(self, fact: Document) -> None:
        """Whoever changed it meanwhile knows it better."""
        try:
            with suppress(Changed):
                self._facts.commit(fact)
        except Unavailable as error:
            raise NeverSent(error.message, cure=error.cure) from error


def _way(utterance: Utterance, reply: InteractionReply | None, at: datetime) -> _Way:
    if reply is None or not reply.is_open(at):
        return _Way.POST
    if utterance.opens and utterance.piece == 0:
        return _Way.ANSWER
    return _Way.FOLLOW_UP if _is_by_token_only(reply) else _Way.POST


def _is_by_token_only(reply: InteractionReply) -> bool:
    """Whether the channel is no place for what this interaction is answered."""
    return reply.is_guest or reply.is_ephemeral


def _quiet(face: RenderedMessage, reply: InteractionReply) -> dict[str, object]:
    return {**face.message, "flags": 64} if reply.is_ephemeral else dict(face.message)
