"""Agent lookup: what a command carries, and which agent it means, by id, by name or by channel."""

import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.agent import Profile
from opencrab.domain.conversation.sent_file import SentFile
from opencrab.domain.conversation.session import Hearing
from opencrab.domain.discord.community import (
    KIND,
    InteractionReply,
    Person,
    Presence,
    discord_authority,
)
from opencrab.domain.errors import Conflict, NotFound, Refused
from opencrab.domain.value import Language
from opencrab.engine.conversation.channel_bindings import (
    SessionOpening,
    conversation_bound_to_channel,
    narrowest_conversation_hearing,
)
from opencrab.engine.discord.presence import discord_presence, discord_presences
from opencrab.engine.runtime import Runtime
from opencrab.gateways.discord.text import sentences
from opencrab.gateways.discord.text.embeds import one_discord_line
from opencrab.gateways.discord.text.view_sentences import discord_text_of_view
from opencrab.ports.agents import Agents
from opencrab.ports.home import Home

Seen = tuple[Profile, Presence | None]
Hears = Callable[[Presence | None], bool]
"""Whether an agent with this presence can be asked."""

_NAMED = 10
_PAGE = 100


@dataclass(frozen=True)
class AgentQuery:
    """One command with its options and the user who sent it.

    `name` is the command with its subcommand, as in `memory search`; `options` are its arguments by
    name, `files` those that came with it. `reply` says how it is answered.
    """

    runtime: Runtime
    name: str
    options: Mapping[str, Any]
    person: Person
    reply: InteractionReply
    files: tuple[SentFile, ...] = ()

    @property
    def language(self) -> Language:
        """The language of the user."""
        return self.reply.language

    def authority(self, presence: Presence | None) -> Authority:
        """Return the user's authority over an agent, or over the installation if there is none."""
        return discord_authority(self.person, self.runtime.community, presence)

    def require_owner(
        self, profile: Profile | None = None, presence: Presence | None = None
    ) -> None:
        """Raise Refused unless the user is an owner of this agent, or of the installation."""
        if self.authority(presence) is not Authority.OWNER:
            key = "installation_owner_only" if profile is None else "owner_only"
            name = "" if profile is None else profile.agent.name
            raise Refused(
                sentences.discord_sentence(self.language, key, name=name),
                cure=sentences.discord_sentence(self.language, "owner_only_cure"),
            )


def find_agent_on_discord(
    home: Home,
    option: str | None,
    *,
    channel_id: str,
    guild_id: str | None,
    language: Language = Language.EN,
    hears: Hears | None = None,
) -> Seen:
    """Find the agent with this id or name that can be asked here.

    Returns it with its Discord settings (`Presence`). Without an option it is the agent of the
    channel's session, the one placed in the channel, or the only one. Raises NotFound, naming those
    that can be asked, and Conflict with the ids if several share the name. Retired agents are found
    by id only.
    """
    hears = hears or partial(_hears, channel_id, guild_id)
    wanted = (option or "").strip()
    if not wanted:
        return _only(home, channel_id, hears, language)
    named = _by_id(home, wanted)
    if named is not None and hears(named[1]):
        return named
    here = tuple(_askable(home, hears))
    name = _fold_discord_agent_name(wanted)
    fitting = [seen for seen in here if name == _fold_discord_agent_name(seen[0].agent.name)]
    fitting = fitting or [
        seen for seen in here if name == _fold_discord_agent_name(seen[0].identity.name)
    ]
    if len(fitting) > 1:
        ids = ", ".join(profile.agent.id for profile, _ in fitting[:_NAMED])
        raise Conflict(
            discord_text_of_view(language, "ambiguous", name=wanted[:100], count=len(fitting)),
            field="agent",
            cure=discord_text_of_view(language, "ambiguous_cure", ids=ids),
        )
    if not fitting:
        message = discord_text_of_view(language, "unknown_agent", name=wanted[:100])
        raise NotFound(message, field="agent", cure=_who(here, language))
    return _whole(home.agents, fitting[0])


def agent_of_discord_command(asked: AgentQuery) -> Seen:
    """Find the agent of a command, among those that the user may ask; raises as `find_agent`."""
    reply = asked.reply
    return find_agent_on_discord(
        asked.runtime.home,
        asked.options.get("agent"),
        channel_id=reply.channel_id,
        guild_id=reply.guild_id,
        language=asked.language,
        hears=partial(_hears_asker, asked),
    )


def _agents_askable_on_discord(asked: AgentQuery) -> Iterator[Seen]:
    """Return all agents that answer this user here, in order of their ids, without their state."""
    return _askable(asked.runtime.home, partial(_hears_asker, asked))


def is_discord_user_admitted(asked: AgentQuery) -> bool:
    """Check whether the user is admitted: by the installation, or in private by any agent."""
    guild_id, community = asked.reply.guild_id, asked.runtime.community
    if community.admits(guild_id, asked.authority(None)):
        return True
    return guild_id is None and any(
        community.admits(None, asked.authority(each))
        for each in discord_presences(asked.runtime.home.facts)
    )


def living_agents_for_discord(agents: Agents) -> Iterator[Profile]:
    """Return all agents that have not retired, in order of their ids, without their state."""
    return (profile for profile in every_agent_for_discord(agents) if profile.agent.answers)


def every_agent_for_discord(agents: Agents) -> Iterator[Profile]:
    """Return all agents, in order of their ids, without their state."""
    after: str | None = None
    while True:
        page = agents.page(after=after, limit=_PAGE)
        yield from page
        if len(page) < _PAGE:
            return
        after = page[-1].agent.id


def _fold_discord_agent_name(name: str) -> str:
    """Normalise a name for comparison: NFKC, trimmed, without case."""
    return unicodedata.normalize("NFKC", name).strip().casefold()


def words_of_discord_option(asked: AgentQuery, option: str) -> str:
    """Return the text of an option; raises Invalid if it is empty."""
    text = str(asked.options.get(option, ""))
    if not text.strip():
        raise sentences.no_words_in_discord_option(asked.language, option)
    return text


def resolve_agent_on_discord(asked: AgentQuery) -> Seen:
    """Find the agent that a command names, or the only one here; raises NotFound, Conflict."""
    seen = agent_of_discord_command(asked)
    if not seen[0].agent.answers:
        name = seen[0].identity.name
        raise Conflict(
            sentences.discord_sentence(asked.language, "retired", name=name), field="agent"
        )
    return seen


def first_agent_in_discord_channel(asked: AgentQuery) -> Seen:
    """Find the first agent of the channel's session, else placed here, else as `resolve_agent`."""
    reply = asked.reply
    here = {seen[0].agent.id: seen for seen in _agents_askable_on_discord(asked)}
    session = conversation_bound_to_channel(asked.runtime.home, place_of_discord_channel(asked))
    talking = () if session is None else session.agent_ids
    placed = (key for key, (_, at) in here.items() if at is not None and at.spot(reply.channel_id))
    for agent_id in (*talking, *placed):
        if agent_id in here:
            return here[agent_id]
    return resolve_agent_on_discord(asked)


def agents_placed_in_discord_channel(asked: AgentQuery) -> tuple[Seen, ...]:
    """Return the agents that are placed in this channel."""
    reply = asked.reply
    return tuple(
        seen
        for seen in _agents_askable_on_discord(asked)
        if seen[1] is not None and seen[1].spot(reply.channel_id) is not None
    )


def agent_seen_again_on_discord(home: Home, agent_id: str) -> Seen:
    """Load an agent and its presence again; raises NotFound."""
    return home.agents.get(agent_id), discord_presence(home.facts, agent_id)


def place_of_discord_channel(asked: AgentQuery) -> str:
    """Return the channel's name as a place that sessions are bound to."""
    return _place(asked.reply.channel_id)


def is_trusted_discord_user(asked: AgentQuery, presence: Presence | None) -> bool:
    """Check whether the user is an owner or a known user of an agent now."""
    return asked.authority(presence) in {Authority.OWNER, Authority.USER}


def discord_channel_session_settings(
    asked: AgentQuery, *seen: Seen, theme: str = ""
) -> SessionOpening:
    """Return the settings of a new session of the channel; its hearing is the narrowest one."""
    return SessionOpening(
        agent_ids=tuple(dict.fromkeys(each[0].agent.id for each in seen)),
        opened_by=asked.person.principal_id,
        theme=theme,
        hearing=narrowest_conversation_hearing(
            *(_hearing(presence, asked.reply.channel_id) for _, presence in seen)
        ),
        guild_id=asked.reply.guild_id,
        others_read=asked.reply.is_among_others,
    )


def _askable(home: Home, hears: Hears) -> Iterator[Seen]:
    kept = {presence.agent_id: presence for presence in discord_presences(home.facts)}
    for profile in living_agents_for_discord(home.agents):
        presence = kept.get(profile.agent.id)
        if hears(presence):
            yield profile, presence


def _only(home: Home, channel_id: str, hears: Hears, language: Language) -> Seen:
    """Find the agent when none is named; raises NotFound."""
    here = tuple(_askable(home, hears))
    session = conversation_bound_to_channel(home, _place(channel_id))
    spoken = () if session is None else session.agent_ids
    talking = tuple(seen for seen in here if seen[0].agent.id in spoken)
    placed = tuple(seen for seen in here if seen[1] is not None and seen[1].spot(channel_id))
    for group in (talking, placed, here):
        if len(group) == 1:
            return _whole(home.agents, group[0])
    key = "name_agent" if here else "no_agents"
    raise NotFound(discord_text_of_view(language, key), field="agent", cure=_who(here, language))


def _by_id(home: Home, agent_id: str) -> Seen | None:
    try:
        return agent_seen_again_on_discord(home, agent_id)
    except NotFound:
        return None


def _whole(agents: Agents, seen: Seen) -> Seen:
    return agents.get(seen[0].agent.id), seen[1]


def _hears(channel_id: str, guild_id: str | None, presence: Presence | None) -> bool:
    return presence is None or presence.may_be_asked(channel_id, guild_id)


def _hears_asker(asked: AgentQuery, presence: Presence | None) -> bool:
    reply, by = asked.reply, asked.authority(presence)
    if not asked.runtime.community.admits(reply.guild_id, by):
        return False
    return presence is None or presence.may_be_asked(
        reply.channel_id, reply.guild_id, by=by, among_others=reply.is_among_others
    )


def _who(here: tuple[Seen, ...], language: Language) -> str:
    if not here:
        return discord_text_of_view(language, "no_agents_cure")
    names = [one_discord_line(profile.agent.name, 100) for profile, _ in here[:_NAMED]]
    listed = ", ".join(names) + (", …" if len(here) > _NAMED else "")
    return discord_text_of_view(language, "agents_are", names=listed)


def _place(channel_id: str) -> str:
    return f"{KIND}.{channel_id}"


def _hearing(presence: Presence | None, channel_id: str) -> Hearing:
    spot = None if presence is None else presence.spot(channel_id)
    return Hearing.SESSION if spot is None else spot.hearing
