"""Ambient messages: ordinary messages of Discord channels, and the agents that answer them."""

from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.conversation.loop_guard import LOOP, WINDOW, BotRun
from opencrab.domain.conversation.message import Message, Part, Sender, TextPart
from opencrab.domain.conversation.sent_file import FILES, SentFile
from opencrab.domain.conversation.session import PARTICIPANTS, Hearing, Session
from opencrab.domain.discord.community import (
    Community,
    Person,
    Presence,
    Snowflake,
    Spot,
    discord_authority,
    discord_channel,
    time_of_discord_snowflake,
)
from opencrab.domain.document import INSTALLATION_FACTS, Document, new_fact
from opencrab.domain.errors import Changed, Conflict, NotFound
from opencrab.domain.turn.turn import Turn
from opencrab.domain.value import Identifier, Name, Text, Value
from opencrab.engine.conversation.channel_bindings import (
    SessionOpening,
    conversation_bound_to_channel,
    open_conversation_of_channel,
)
from opencrab.engine.discord.presence import discord_presence, discord_presences
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.admission import admit_turns_of_message
from opencrab.ports.access.secrets import Secrets
from opencrab.ports.agents import Agents
from opencrab.ports.clock import Clock
from opencrab.ports.documents import Documents
from opencrab.ports.home import Home

_TRIES = 5
_PAGE = 100
_FEWEST_FIRST = tuple(Hearing)
_LEAST_FIRST = (Authority.PUBLIC, Authority.USER, Authority.OWNER)


class ReceivedMessage(Value, defer_build=False):
    """A channel message as the relay received it; its id contains its time.

    `mentions_agent` is the id of the agent that it names, if any; `reference` is the message that
    it answers; `files` are attached to it. A relay of an earlier version sends only their names.
    """

    id: Snowflake
    channel_id: Snowflake
    guild_id: Snowflake | None = None
    author: Person
    content: Annotated[Text, StringConstraints(max_length=8_000)] = ""
    mentions_bot: bool = False
    mentions_agent: Identifier | None = None
    reference: Snowflake | None = None
    files: Annotated[tuple[SentFile | Name, ...], Field(max_length=FILES)] = ()

    @property
    def place(self) -> str:
        """The id of the channel in its binding to a session."""
        return f"discord.{self.channel_id}"

    @property
    def sent_files(self) -> tuple[SentFile, ...]:
        """The files; of those that an earlier relay brought only the names."""
        return tuple(SentFile(name=x) if isinstance(x, str) else x for x in self.files)

    @property
    def without_addresses(self) -> "ReceivedMessage":
        """The same message whenever it comes: Discord signs the addresses of files anew."""
        return self.replaced(files=tuple(each.name for each in self.sent_files))


class Silence(StrEnum):
    """The reason why no agent answers a message."""

    OWN = "own"
    GUILD = "guild"
    EMPTY = "empty"
    NOBODY = "nobody"
    LOOP = "loop"


@dataclass(frozen=True)
class AmbientOutcome:
    """The turns that a message started, or the reason why it started none."""

    turns: tuple[Turn, ...] = ()
    silence: Silence | None = None


def answer_ambient_discord_message(
    runtime: Runtime, said: ReceivedMessage, *, own_ids: frozenset[str] = frozenset()
) -> AmbientOutcome:
    """Let the agents that a channel message concerns answer it, once per message id.

    `own_ids` are the ids of our bots. Raises Conflict when concurrent updates of the channel's
    binding or bot messages exhaust the retries, and when too many agents take part; Unavailable
    when the tokens cannot be read, or a file cannot be stored now.
    """
    silence = _unheard(runtime.community, said, own_ids)
    if silence is not None:
        return AmbientOutcome(silence=silence)
    if not said.author.is_bot:
        _human_spoke(runtime.home.facts, said)
    session = conversation_bound_to_channel(runtime.home, said.place)
    concerned = _responding_agents(runtime.home, runtime.secrets, said, session)
    agent_ids = tuple(
        each for each in concerned if _admits(runtime.home.facts, runtime.community, said, each)
    )
    if not agent_ids:
        return AmbientOutcome(silence=Silence.GUILD if concerned else Silence.NOBODY)
    if said.author.is_bot and not _bot_spoke(runtime.home.facts, runtime.clock, said):
        return AmbientOutcome(silence=Silence.LOOP)
    session = open_conversation_of_channel(
        runtime, said.place, _opening(runtime.home.facts, said, agent_ids)
    )
    authority = _authority(runtime.home.facts, runtime.community, said.author, agent_ids)
    parts = _parts(runtime, said, session.id, agent_ids[0], authority)
    message = _message(said, parts, authority)
    taint = said.author.is_bot
    return AmbientOutcome(
        admit_turns_of_message(runtime, session.id, message, only=agent_ids, taint=taint)
    )


def _unheard(
    community: Community, said: ReceivedMessage, own_ids: frozenset[str]
) -> Silence | None:
    if said.author.id in own_ids:
        return Silence.OWN
    if said.guild_id is not None and not community.admits(said.guild_id):
        return Silence.GUILD
    return None if said.content.strip() or said.files else Silence.EMPTY


def _admits(facts: Documents, community: Community, said: ReceivedMessage, agent_id: str) -> bool:
    """Check whether the author may talk to an agent in this server or private conversation."""
    by = _authority(facts, community, said.author, (agent_id,))
    return community.admits(said.guild_id, by)


def _responding_agents(
    home: Home, secrets: Secrets | None, said: ReceivedMessage, session: Session | None
) -> tuple[str, ...]:
    """Return the agents that should answer a message, without retired ones."""
    if said.mentions_agent is not None:
        found: Iterable[str] = _mentioned_agents(home.facts, said, said.mentions_agent)
    elif said.guild_id is None:
        found = _in_private(home.agents, session)
    else:
        found = _in_channel(home.facts, said, session)
    answering = [each for each in dict.fromkeys(found) if _answers(home.agents, each)]
    if said.author.is_bot:
        answering = [
            each for each in answering if not _is_itself(home.facts, secrets, said.author, each)
        ]
    return tuple(answering)[:PARTICIPANTS]


def _mentioned_agents(facts: Documents, said: ReceivedMessage, agent_id: str) -> tuple[str, ...]:
    presence = discord_presence(facts, agent_id)
    return (agent_id,) if _may_hear(presence, said, mentioned=True) else ()


def _in_private(agents: Agents, session: Session | None) -> tuple[str, ...]:
    """Return the agents of a private conversation, else the installation's only agent."""
    if session is not None:
        return session.agent_ids
    found = agents.page(after=None, limit=_PAGE)
    living = tuple(each.agent.id for each in found if each.agent.answers)
    return living if len(living) == 1 and len(found) < _PAGE else ()


def _in_channel(
    facts: Documents, said: ReceivedMessage, session: Session | None
) -> tuple[str, ...]:
    """Return the agents that read a channel; a mention also reaches those in its session."""
    kept = {each.agent_id: each for each in discord_presences(facts)}
    mentioned = said.mentions_bot
    listening = [
        agent_id
        for agent_id, presence in kept.items()
        if presence.spot(said.channel_id) is not None
        and _may_hear(presence, said, mentioned=mentioned)
    ]
    if mentioned and session is not None:
        listening += (
            agent_id
            for agent_id in session.agent_ids
            if _may_hear(kept.get(agent_id), said, mentioned=True)
        )
    return tuple(listening)


def _may_hear(presence: Presence | None, said: ReceivedMessage, *, mentioned: bool) -> bool:
    if presence is None:
        return mentioned
    spot: Spot | None = presence.spot(said.channel_id)
    if spot is None:
        return mentioned and presence.may_be_asked(said.channel_id, said.guild_id)
    return spot.reads and (mentioned or not spot.mentions_only)


def _answers(agents: Agents, agent_id: str) -> bool:
    try:
        return agents.get(agent_id).agent.answers
    except NotFound:
        return False


def _is_itself(facts: Documents, secrets: Secrets | None, author: Person, agent_id: str) -> bool:
    """Check whether a bot is the agent's own: a bot token begins with the bot's id."""
    presence = discord_presence(facts, agent_id)
    if presence is None or presence.token_secret is None or secrets is None:
        return False
    first = (secrets.get(presence.token_secret) or "").partition(".")[0]
    return first.rstrip("=") == b64encode(author.id.encode()).decode().rstrip("=")


def _opening(facts: Documents, said: ReceivedMessage, agent_ids: tuple[str, ...]) -> SessionOpening:
    spots = (
        presence.spot(said.channel_id)
        for presence in (discord_presence(facts, each) for each in agent_ids)
        if presence is not None
    )
    hearings = [spot.hearing for spot in spots if spot is not None] or [Hearing.SESSION]
    return SessionOpening(
        agent_ids=agent_ids,
        opened_by=said.author.principal_id,
        hearing=min(hearings, key=_FEWEST_FIRST.index),
        guild_id=said.guild_id,
    )


def _authority(
    facts: Documents, community: Community, author: Person, agent_ids: tuple[str, ...]
) -> Authority:
    """Return the author's lowest authority among these agents, since a message has only one."""
    if author.is_bot:
        return Authority.PUBLIC
    found = (
        discord_authority(author, community, discord_presence(facts, each)) for each in agent_ids
    )
    return min(found, key=_LEAST_FIRST.index)


def _parts(
    runtime: Runtime, said: ReceivedMessage, session_id: str, agent_id: str, authority: Authority
) -> tuple[Part, ...]:
    """Return a message's text and files; what is said of these is in the first agent's language."""
    if not said.files:
        return (TextPart(text=said.content),)
    from opencrab.engine.discord.received_files import (  # noqa: PLC0415 - seldom needed
        SentMessage,
        discord_message_parts,
    )

    sent = SentMessage(said.id, said.content, said.sent_files, said.author, authority)
    return discord_message_parts(runtime, session_id, agent_id, sent)


def _message(said: ReceivedMessage, parts: tuple[Part, ...], authority: Authority) -> Message:
    author = said.author
    metadata = {"discord_message": said.id}
    if said.reference is not None:
        metadata["discord_reference"] = said.reference
    return Message(
        source=Source.DISCORD,
        source_id=said.id,
        principal_id=author.principal_id,
        sender=Sender(id=author.principal_id, name=author.name),
        authority=authority,
        parts=parts,
        channel=discord_channel(said.channel_id),
        metadata=metadata,
    )


def _human_spoke(facts: Documents, said: ReceivedMessage) -> None:
    for _ in range(_TRIES):
        fact, run = _run(facts, said.channel_id)
        following = run.after_human(time_of_discord_snowflake(said.id))
        if fact is None or following == run:
            return
        if _try_commit(facts, fact.with_body(following)):
            return
    raise _busy(said.channel_id)


def _bot_spoke(facts: Documents, clock: Clock, said: ReceivedMessage) -> bool:
    """Record a bot's message once per id, and return whether it may be answered."""
    at = time_of_discord_snowflake(said.id)
    for _ in range(_TRIES):
        fact, run = _run(facts, said.channel_id)
        verdict = run.verdict(said.id)
        if verdict is not None:
            return verdict
        following = run.after_bot(said.id, said.content, at)
        stored = (
            new_fact(INSTALLATION_FACTS, LOOP, said.channel_id, following)
            if fact is None
            else fact.with_body(following)
        )
        if _try_commit(facts, stored.replaced(expires_at=clock.now() + WINDOW)):
            return following.heard[-1].answered
    raise _busy(said.channel_id)


def _run(facts: Documents, channel_id: str) -> tuple[Document | None, BotRun]:
    fact = facts.get(INSTALLATION_FACTS, LOOP, channel_id)
    return fact, BotRun() if fact is None else fact.read(BotRun)


def _try_commit(facts: Documents, fact: Document) -> bool:
    try:
        facts.commit(fact)
    except Changed:
        return False
    return True


def _busy(channel_id: str) -> Conflict:
    return Conflict(
        f"concurrent updates of bot messages in channel {channel_id!r}; retries exhausted",
        cure="try again",
    )
