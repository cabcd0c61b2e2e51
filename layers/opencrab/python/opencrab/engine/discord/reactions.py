"""Reactions: a thumb under a message of ours is feedback, 🛑 under a question stops its answer."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from pydantic import StringConstraints

from opencrab.domain import identifier
from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.discord.community import (
    DISCORD_PRINCIPAL,
    KIND,
    Person,
    Snowflake,
    discord_authority,
)
from opencrab.domain.errors import Conflict, NotFound
from opencrab.domain.turn.turn import Turn
from opencrab.domain.value import Text, Value
from opencrab.engine.conversation.channel_bindings import conversation_bound_to_channel
from opencrab.engine.discord.presence import discord_presence
from opencrab.engine.discord.setup import require_discord
from opencrab.engine.learning import feedback
from opencrab.engine.learning.feedback import Thumbs
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.control import stop_turn

_BUTTON = "oc:fb:"
_THUMBS: Mapping[str, Thumbs] = {"👍": "up", "👎": "down"}
_STOP = "🛑"
_SKIN = dict.fromkeys(range(127995, 128000))


class Reaction(Value, defer_build=False):
    """An emoji that somebody put under a message."""

    channel_id: Snowflake
    guild_id: Snowflake | None = None
    message_id: Snowflake
    author: Person
    emoji: Annotated[Text, StringConstraints(min_length=1, max_length=100)]


class Unused(StrEnum):
    """The reason why a reaction is not stored as feedback."""

    EMOJI = "emoji"
    STRANGER = "stranger"
    OTHERS = "others"
    UNKNOWN = "unknown"
    EARLY = "early"
    BEFORE = "before"


@dataclass(frozen=True)
class FeedbackOutcome:
    """The turn that the feedback is about, or that was stopped, else the reason for neither."""

    turn_id: str | None = None
    unused: Unused | None = None


def record_discord_reaction(
    runtime: Runtime, reaction: Reaction, *, own_ids: frozenset[str]
) -> FeedbackOutcome:
    """Store a thumb as feedback, unless the author gave feedback before or is public; 🛑 stops.

    The message names its turn in its feedback buttons; without them the turn is unknown. Raises
    NotFound if Discord is disabled, and the errors of Discord's API.
    """
    emoji = reaction.emoji.translate(_SKIN).rstrip("\ufe0f")
    thumbs = _THUMBS.get(emoji)
    if (thumbs is None and emoji != _STOP) or reaction.author.is_bot:
        return FeedbackOutcome(unused=Unused.EMOJI)
    path = f"/channels/{reaction.channel_id}/messages/{reaction.message_id}"
    message = require_discord(runtime.discord).ask("GET", path)
    author_id = str((message.get("author") or {}).get("id"))
    if thumbs is None:
        return _stop_answers(runtime, reaction, author_id)
    if author_id not in own_ids:
        return FeedbackOutcome(unused=Unused.OTHERS)
    named = next(_turns(message.get("components") or ()), None)
    return (
        FeedbackOutcome(unused=Unused.UNKNOWN)
        if named is None
        else _record_feedback(runtime, reaction, named, thumbs)
    )


def may_give_discord_feedback(runtime: Runtime, person: Person, agent_id: str) -> bool:
    """Check whether an agent learns from a person's feedback: not from the public."""
    return _authority(runtime, person, agent_id) is not Authority.PUBLIC


def _stop_answers(runtime: Runtime, reaction: Reaction, author_id: str) -> FeedbackOutcome:
    """Stop the turns that answer a message, for who wrote it or for an owner of their agent."""
    person, stopped = reaction.author, list[str]()
    running = tuple(_running_answers(runtime, reaction, author_id))
    for turn in running:
        is_owner = _authority(runtime, person, turn.agent_id) is Authority.OWNER
        if is_owner or turn.principal_id == person.principal_id:
            stopped.append(stop_turn(runtime, turn.id, by=person.principal_id).id)
    if stopped:
        return FeedbackOutcome(turn_id=stopped[0])
    return FeedbackOutcome(unused=Unused.STRANGER if running else Unused.UNKNOWN)


def _running_answers(runtime: Runtime, reaction: Reaction, author_id: str) -> Iterator[Turn]:
    """Yield the turns by which the agents of the channel's session answer a message now."""
    session = conversation_bound_to_channel(runtime.home, f"{KIND}.{reaction.channel_id}")
    if session is None:
        return
    for agent_id in session.agent_ids:
        # As `Message.turn_in` computes it.
        known = identifier.turn_id(
            source=Source.DISCORD,
            principal=f"{DISCORD_PRINCIPAL}{author_id}",
            source_id=f"{session.id}/{reaction.message_id}",
            agent_id=agent_id,
        )
        with suppress(NotFound):
            turn = runtime.home.journal.header(known)
            if not turn.status.is_end:
                yield turn


def _authority(runtime: Runtime, person: Person, agent_id: str) -> Authority:
    return discord_authority(
        person, runtime.community, discord_presence(runtime.home.facts, agent_id)
    )


def _record_feedback(
    runtime: Runtime, reaction: Reaction, turn_id: str, thumbs: Thumbs
) -> FeedbackOutcome:
    author = reaction.author
    try:
        turn = runtime.home.journal.header(turn_id)
    except NotFound:
        return FeedbackOutcome(unused=Unused.UNKNOWN)
    if not may_give_discord_feedback(runtime, author, turn.agent_id):
        return FeedbackOutcome(unused=Unused.STRANGER)
    if not turn.status.is_end:
        return FeedbackOutcome(unused=Unused.EARLY)
    by, key = author.principal_id, author.id
    is_owner = _authority(runtime, author, turn.agent_id) is Authority.OWNER
    try:
        feedback.give_feedback(
            runtime, turn_id, by=by, thumbs=thumbs, remark="", key=key, by_owner=is_owner
        )
    except Conflict:
        return FeedbackOutcome(unused=Unused.BEFORE)
    return FeedbackOutcome(turn_id=turn_id)


def _turns(parts: Any) -> Iterator[str]:
    """Yield the turn ids in feedback buttons, at any depth of a message's components."""
    for part in parts:
        custom_id = str(part.get("custom_id") or "")
        if custom_id.startswith(_BUTTON):
            yield custom_id.removeprefix(_BUTTON).partition(":")[0]
        yield from _turns(part.get("components") or ())
