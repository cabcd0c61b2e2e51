"""World: what every call does to Discord's state, without HTTP."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from threading import RLock
from typing import Any

from opencrab.ports.clock import Clock
from tests.discord.refusals import Refusal, invalid, not_found
from tests.discord.rules import check_not_empty
from tests.discord.state import (
    EPHEMERAL,
    LOADING,
    File,
    Interaction,
    Message,
    Person,
    Place,
    is_within,
    snowflake,
)

DEADLINE, TOKEN_LIVES, RACE, NONCE_WINDOW = 3.0, 900.0, 10.0, 180.0
FOLLOW_UPS = 5

ANSWERS = {2: {4, 5, 9}, 3: {4, 5, 6, 7, 9}, 4: {8}, 5: {4, 5, 6, 7}}
"""With which types each kind of interaction may be answered."""


@dataclass(frozen=True)
class Draft:
    """A message that is written: its body as it was sent, and its files."""

    body: Mapping[str, Any]
    files: Sequence[File] = ()


class World:
    """Channels, messages, interactions and bots, seen at the injected time."""

    def __init__(self, clock: Clock, application_id: str, bots: dict[str, Person]) -> None:
        self.clock = clock
        self.application_id = application_id
        self.bots = bots
        self.lock = RLock()
        self.race_seconds = RACE
        self.gateway_url = "wss://gateway.discord.gg"
        self.places: dict[str, Place] = {}
        self.guilds: dict[str, str] = {}
        self.people: dict[str, Person] = {}
        self.messages: dict[str, Message] = {}
        self.interactions: dict[str, Interaction] = {}
        self._nonces: dict[tuple[str, str | int], Message] = {}
        self._count = 0

    @property
    def bot(self) -> Person:
        """The application's own bot."""
        return next(iter(self.bots.values()))

    def new_id(self) -> str:
        """An id made now."""
        self._count += 1
        return snowflake(self.clock.now(), self._count)

    def settle(self) -> None:
        """Let interactions fail that nobody answered in time."""
        now = self.clock.now()
        for each in self.interactions.values():
            if each.standing == "waiting" and not is_within(now, each.created_at, DEADLINE):
                each.standing = "failed"

    def answer(
        self, interaction: Interaction, kind: int, draft: Draft, *, inline: bool
    ) -> Message | None:
        """The first answer to an interaction, inline or by its callback."""
        self.settle()
        if interaction.standing == "failed":
            raise not_found(10062)
        if interaction.standing != "waiting":
            raise Refusal(400, 40060)
        if kind not in ANSWERS[interaction.kind]:
            raise invalid("type", "BASE_TYPE_CHOICES", f"{interaction.kind} is not answered so")
        self._answered(interaction, kind, draft)
        interaction.acknowledged_at = self.clock.now()
        interaction.inline = inline
        return interaction.original

    def _answered(self, interaction: Interaction, kind: int, draft: Draft) -> None:
        match kind:
            case 4 | 5:
                interaction.ephemeral = bool(int(draft.body.get("flags") or 0) & EPHEMERAL)
                message = self._new(interaction.place, self.bot, draft, interaction)
                message.flags |= LOADING if kind == 5 else 0
                interaction.original = message
                interaction.standing = "thinking" if kind == 5 else "answered"
            case 6 | 7:
                if interaction.source is None:
                    raise invalid("type", "BASE_TYPE_CHOICES", "there is no message to update")
                interaction.original = interaction.source
                interaction.standing = "updating"
                if kind == 7:
                    self._write(interaction.source, draft)
                    interaction.standing = "answered"
            case 8:
                interaction.choices = list(draft.body.get("choices") or [])
                interaction.standing = "choices"
            case 9:
                interaction.modal = dict(draft.body)
                interaction.standing = "modal"

    def by_token(self, application_id: str, token: str) -> Interaction:
        """The interaction that a webhook's address names; refused when it cannot be used."""
        self.settle()
        if application_id != self.application_id:
            raise not_found(10015)
        found = [each for each in self.interactions.values() if each.token == token]
        now = self.clock.now()
        if not found or not is_within(now, found[0].created_at, TOKEN_LIVES):
            raise Refusal(401, 50027)
        interaction = found[0]
        if interaction.acknowledged_at is None:
            raise not_found(10015)
        spread = interaction.acknowledged_at + timedelta(seconds=self.race_seconds)
        if interaction.inline and now < spread:
            raise not_found(10015)
        return interaction

    def original(self, interaction: Interaction) -> Message:
        """The first answer, as long as it is there."""
        if interaction.original is None or interaction.original.deleted:
            raise not_found(10008)
        return interaction.original

    def edit_original(self, interaction: Interaction, draft: Draft) -> Message:
        """Replace the first answer."""
        message = self.original(interaction)
        self._write(message, draft)
        interaction.standing = "answered"
        return message

    def delete_original(self, interaction: Interaction) -> None:
        """Take the first answer away."""
        self.original(interaction).deleted = True
        interaction.standing = "answered"

    def follow_up(self, interaction: Interaction, draft: Draft) -> Message:
        """Answer once more; right after a deferral Discord fills the loading message instead."""
        original = interaction.original
        if original is not None and original.is_loading and not original.deleted:
            return self.edit_original(interaction, draft)
        if interaction.place.guest and len(interaction.follow_ups) >= FOLLOW_UPS:
            raise Refusal(400, 40094)
        self._require_something(draft)
        message = self._new(interaction.place, self.bot, draft, interaction)
        interaction.follow_ups.append(message)
        return message

    def place(self, channel_id: str) -> Place:
        """A channel that the bot sees."""
        place = self.places.get(channel_id)
        if place is None:
            raise not_found(10003)
        if place.guest or not place.can_view:
            raise Refusal(403, 50001)
        return place

    def post(self, channel_id: str, bot: Person, draft: Draft) -> Message:
        """A message of a bot; within some minutes the same nonce answers the same message."""
        place = self.place(channel_id)
        if not place.can_send:
            raise Refusal(403, 50013)
        self._require_something(draft)
        nonce = draft.body.get("nonce")
        if nonce is None or not draft.body.get("enforce_nonce"):
            return self._new(place, bot, draft)
        there = self._nonces.get((bot.id, nonce))
        if there and is_within(self.clock.now(), there.created_at, NONCE_WINDOW):
            return there
        self._nonces[bot.id, nonce] = message = self._new(place, bot, draft)
        return message

    def message(self, channel_id: str, message_id: str) -> Message:
        """A message that the bot sees."""
        self.place(channel_id)
        message = self.messages.get(message_id)
        if message is None or message.channel_id != channel_id or message.deleted:
            raise not_found(10008)
        if message.shown_to is not None:
            raise not_found(10008)
        return message

    def edit(self, channel_id: str, message_id: str, bot: Person, draft: Draft) -> Message:
        """Replace a message of the bot's own."""
        message = self.message(channel_id, message_id)
        if message.author.id != bot.id:
            raise Refusal(403, 50005)
        self._write(message, draft)
        return message

    def delete(self, channel_id: str, message_id: str, bot: Person) -> None:
        """Delete a message of the bot's own."""
        message = self.message(channel_id, message_id)
        if message.author.id != bot.id:
            raise Refusal(403, 50013)
        message.deleted = True

    def say(self, place: Place, person: Person, text: str, files: Iterable[File] = ()) -> Message:
        """An ordinary message of somebody."""
        with self.lock:
            self.people[person.id] = person
            message = self._new(place, person, Draft({"content": text}))
            message.files = [*files]
            bots = self.bots.values()
            message.mentions = tuple(bot for bot in bots if f"<@{bot.id}>" in text)
            return message

    def _new(
        self, place: Place, author: Person, draft: Draft, interaction: Interaction | None = None
    ) -> Message:
        message = Message(self.new_id(), place.channel_id, author, self.clock.now())
        flags = int(draft.body.get("flags") or 0)
        if interaction is not None:
            message.interaction_id = interaction.id
            message.shown_to = interaction.person.id if flags & EPHEMERAL else None
        message.flags = flags
        message.nonce = draft.body.get("nonce")
        self._fill(message, draft)
        self.messages[message.id] = message
        return message

    def _write(self, message: Message, draft: Draft) -> None:
        before = _seen(message)
        kept = _kept(message, draft)
        content = _given(draft, "content", message.content) or ""
        embeds = _given(draft, "embeds", message.embeds) or []
        check_not_empty(content, embeds, [*kept, *draft.files])
        if not message.is_loading:
            message.past.append(before)
        message.files = kept
        message.flags &= ~LOADING
        message.edited_at = self.clock.now()
        self._fill(message, draft)

    def _fill(self, message: Message, draft: Draft) -> None:
        message.content = _given(draft, "content", message.content) or ""
        message.embeds = _given(draft, "embeds", message.embeds) or []
        message.components = _given(draft, "components", message.components) or []
        for file in draft.files:
            message.files.append(File(self.new_id(), file.name, file.content, file.media_type))

    def _require_something(self, draft: Draft) -> None:
        body = draft.body
        check_not_empty(body.get("content") or "", body.get("embeds") or [], draft.files)


def _given(draft: Draft, name: str, present: Any) -> Any:
    return draft.body.get(name, present)


def _kept(message: Message, draft: Draft) -> list[File]:
    """The files that an edit leaves: all, or those that its list names."""
    if "attachments" not in draft.body:
        return list(message.files)
    named = {str(each.get("id")) for each in draft.body["attachments"] or []}
    return [file for file in message.files if file.id in named]


def _seen(message: Message) -> dict[str, Any]:
    return {
        "content": message.content,
        "embeds": message.embeds,
        "components": message.components,
    }
