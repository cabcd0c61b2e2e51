"""Asking: an agent is asked in a channel, or about a message there, or is to remember one.

The answer comes from the agent's turn, through the channel; here it is only admitted. What an
interaction was understood as is kept before anything is done, so that its repeat means the same.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.conversation.message import QUOTES, Message, Part, Sender, TextPart
from opencrab.domain.conversation.sent_file import SentFile
from opencrab.domain.conversation.session import SessionStatus
from opencrab.domain.discord.community import (
    REPLY,
    InteractionReply,
    Person,
    discord_authority,
    discord_channel,
)
from opencrab.domain.document import INSTALLATION_FACTS, new_fact
from opencrab.domain.errors import Changed, Conflict, Invalid, Refused
from opencrab.domain.memory.memory import MEMORY_CHARACTERS
from opencrab.domain.value import Identifier, Value
from opencrab.engine.conversation.channel_bindings import open_conversation_of_channel
from opencrab.engine.discord.presence import discord_presence
from opencrab.engine.memory.curation import MemoryCurator, NewMemory
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.admission import admit_turns_of_message
from opencrab.gateways.discord.agent_lookup import (
    AgentQuery,
    Seen,
    agent_seen_again_on_discord,
    discord_channel_session_settings,
    first_agent_in_discord_channel,
    place_of_discord_channel,
    resolve_agent_on_discord,
    words_of_discord_option,
)
from opencrab.gateways.discord.interactions.interaction import Target
from opencrab.gateways.discord.text.embeds import cut_discord_text, escape_discord_markdown
from opencrab.gateways.discord.text.sentences import (
    discord_sentence,
    no_words_in_discord_option,
    quote_discord_lines,
)
from opencrab.ports.clock import Clock
from opencrab.ports.discord import Payload
from opencrab.ports.documents import Documents

ERRAND = "discord_errand"
"""The kind of these facts; their ids are the interactions'."""

KEPT = timedelta(days=2)

REMEMBERED = "discord_remembered"
"""The kind of an agent's facts that say of which interactions it remembers the message."""

_CATEGORY = "message_summary"
"""Under this a memory may make many claims."""

_SHOWN = 500


class AskIntent(Value):
    """The agent and the session that a command means."""

    agent_id: Identifier | None = None
    session_id: Identifier | None = None


def ask_agent_by_interaction(asked: AgentQuery) -> Payload | None:
    """Ask an agent something; raises NotFound, Invalid and Conflict."""
    _admit(
        asked,
        _Said(words_of_discord_option(asked, "text"), asked.files),
        lambda: resolve_agent_on_discord(asked),
    )
    return None


def ask_about_message_by_interaction(asked: AgentQuery, target: Target) -> Payload | None:
    """Ask the channel's first agent about a message, whose text and files are untrusted."""
    about = discord_sentence(asked.language, "about", name=target.author.name)
    quoted = quote_discord_lines(_message_text(asked, target))
    _admit(
        asked,
        _Said(f"{about}\n{quoted}", target.files, target.author),
        lambda: first_agent_in_discord_channel(asked),
    )
    return None


def remember_message_by_interaction(asked: AgentQuery, target: Target) -> Payload | None:
    """Let the channel's first agent remember a message, as something that its author wrote."""
    runtime, language, said = asked.runtime, asked.language, _message_text(asked, target)
    errand = ask_intent_of_interaction(runtime, asked.reply, lambda: _to_remember(asked))
    agent_id, session_id = str(errand.agent_id), str(errand.session_id)
    name = runtime.home.agents.get(agent_id).identity.name
    content = discord_sentence(
        language, "memory", author=target.author.name, text=" ".join(said.split())
    )
    new = NewMemory(
        content=cut_discord_text(content, MEMORY_CHARACTERS),
        category=_CATEGORY,
        hearing=runtime.home.sessions.get(session_id).hearing,
        session_id=session_id,
    )
    mark = new_fact(
        agent_id, REMEMBERED, asked.reply.id, errand, expires_at=runtime.clock.now() + KEPT
    )
    memories = MemoryCurator(runtime, agent_id, target.author.principal_id, foreign=True)
    try:
        memories.add(new, mark)
    except Changed:
        if runtime.home.facts.get(*mark.key) is None:
            raise
    except Invalid as error:
        known = discord_sentence(language, "known", name=escape_discord_markdown(name))
        raise Invalid(known, field=error.field) from error
    shown = quote_discord_lines(escape_discord_markdown(cut_discord_text(new.content, _SHOWN)))
    said = discord_sentence(language, "remembered", name=escape_discord_markdown(name))
    return {"content": f"{said}\n{shown}"}


def ask_intent_of_interaction(
    runtime: Runtime, reply: InteractionReply, understood: Callable[[], AskIntent]
) -> AskIntent:
    """Return the intent of an interaction, as stored when it was first handled."""
    facts = runtime.home.facts
    earlier = facts.get(INSTALLATION_FACTS, ERRAND, reply.id)
    if earlier is not None:
        return earlier.read(AskIntent)
    errand, until = understood(), runtime.clock.now() + KEPT
    kept = new_fact(INSTALLATION_FACTS, ERRAND, reply.id, errand, expires_at=until)
    way = new_fact(INSTALLATION_FACTS, REPLY, reply.id, reply, expires_at=until)
    try:
        facts.commit(kept, way)
    except Changed:
        stored = facts.get(INSTALLATION_FACTS, ERRAND, reply.id)
        return errand if stored is None else stored.read(AskIntent)
    return errand


def _replace_interaction_intent(
    facts: Documents, clock: Clock, reply: InteractionReply, errand: AskIntent
) -> AskIntent:
    """Replace the stored intent of an interaction for which nothing was done yet."""
    until = clock.now() + KEPT
    fact = new_fact(INSTALLATION_FACTS, ERRAND, reply.id, errand, expires_at=until)
    facts.commit(fact.replaced(version=0))
    return errand


@dataclass(frozen=True)
class _Said:
    """What a turn is to answer; text and files of the person in `quoting` are untrusted."""

    text: str
    files: tuple[SentFile, ...]
    quoting: Person | None = None


def _admit(asked: AgentQuery, said: _Said, chosen: Callable[[], Seen]) -> None:
    """Admit what was said to the channel's session as a turn of one agent, once.

    If the session ended before anything was admitted to it, a new one is opened. Erasing
    the quoted person erases it too.
    """
    runtime, reply = asked.runtime, asked.reply
    found = list[Seen]()

    def understood() -> AskIntent:
        found.append(chosen())
        return _intent_for_open_session(asked, found[-1])

    errand = ask_intent_of_interaction(runtime, reply, understood)
    try:
        _into(asked, errand, said, found)
    except Conflict:
        session = runtime.home.sessions.get(str(errand.session_id))
        if session.status is SessionStatus.ACTIVE:
            raise
        seen = agent_seen_again_on_discord(runtime.home, str(errand.agent_id))
        again = _replace_interaction_intent(
            runtime.home.facts, runtime.clock, reply, _intent_for_open_session(asked, seen)
        )
        _into(asked, again, said, [seen])


def _intent_for_open_session(asked: AgentQuery, seen: Seen) -> AskIntent:
    session = open_conversation_of_channel(
        asked.runtime,
        place_of_discord_channel(asked),
        discord_channel_session_settings(asked, seen),
        known=(seen[0],),
    )
    return AskIntent(agent_id=seen[0].agent.id, session_id=session.id)


def _into(asked: AgentQuery, errand: AskIntent, said: _Said, found: Sequence[Seen]) -> None:
    """Admit what was said to the session of an intent; `found` are agents that were just read."""
    runtime, reply, person = asked.runtime, asked.reply, asked.person
    agent_id = str(errand.agent_id)
    metadata = {"discord_channel": reply.channel_id}
    if reply.guild_id is not None:
        metadata["discord_guild"] = reply.guild_id
    if said.quoting is not None:
        metadata[QUOTES] = said.quoting.principal_id
    read = {profile.agent.id: presence for profile, presence in found}
    if agent_id not in read:
        read[agent_id] = discord_presence(runtime.home.facts, agent_id)
    authority = discord_authority(person, runtime.community, read[agent_id])
    message = Message(
        source=Source.DISCORD,
        source_id=reply.id,
        principal_id=person.principal_id,
        sender=Sender(id=person.principal_id, name=person.name),
        authority=authority,
        parts=_parts(asked, errand, said, authority),
        channel=discord_channel(reply.channel_id, reply.id, awaited=True),
        metadata=metadata,
    )
    quotes, session_id = said.quoting is not None, str(errand.session_id)
    admit_turns_of_message(
        runtime,
        session_id,
        message,
        taint=quotes,
        only=(agent_id,),
        known=[profile for profile, _ in found],
    )


def _parts(
    asked: AgentQuery, errand: AskIntent, said: _Said, authority: Authority
) -> tuple[Part, ...]:
    if not said.files:
        return (TextPart(text=said.text),)
    from opencrab.engine.discord.received_files import (  # noqa: PLC0415 - seldom needed
        SentMessage,
        discord_message_parts,
    )

    sent = SentMessage(asked.reply.id, said.text, said.files, asked.person, authority, said.quoting)
    return discord_message_parts(asked.runtime, str(errand.session_id), str(errand.agent_id), sent)


def _to_remember(asked: AgentQuery) -> AskIntent:
    seen = first_agent_in_discord_channel(asked)
    if asked.authority(seen[1]) not in {Authority.OWNER, Authority.USER}:
        name = escape_discord_markdown(seen[0].identity.name)
        raise Refused(discord_sentence(asked.language, "remember_refused", name=name))
    return _intent_for_open_session(asked, seen)


def _message_text(asked: AgentQuery, target: Target) -> str:
    """Return a message's text and the names of its files; raises Invalid if there are none."""
    files = (discord_sentence(asked.language, "file", name=each.name) for each in target.files)
    said = "\n".join(filter(str.strip, (target.text, *files)))
    if not said:
        raise no_words_in_discord_option(asked.language, "message")
    return said
