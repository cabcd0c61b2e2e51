"""Here: which agents are meant in a channel, and how its session is opened."""

from opencrab.domain.access.authority import Authority
from opencrab.domain.conversation.session import Hearing
from opencrab.domain.discord.community import KIND, Presence
from opencrab.domain.errors import Conflict
from opencrab.engine.conversation.channel_bindings import Opening, fewest, session_at
from opencrab.engine.discord.presence import presence_of
from opencrab.engine.runtime import Runtime
from opencrab.gateways.discord.interactions.agent_lookup import Seen, agent_of, askable_by
from opencrab.gateways.discord.interactions.request import Asked
from opencrab.gateways.discord.views.sentences import no_words, say


def words_in(asked: Asked, option: str) -> str:
    """What somebody wrote into an option; raises Invalid when that is nothing."""
    text = str(asked.options.get(option, ""))
    if not text.strip():
        raise no_words(asked.language, option)
    return text


def meant(asked: Asked) -> Seen:
    """The agent that somebody names, or the only one here; raises NotFound, Conflict."""
    seen = agent_of(asked)
    if not seen[0].agent.answers:
        name = seen[0].identity.name
        raise Conflict(say(asked.language, "retired", name=name), field="agent")
    return seen


def first_here(asked: Asked) -> Seen:
    """The first agent that talks here, or was placed here, or the only one; raises as `meant`."""
    reply = asked.reply
    here = {seen[0].agent.id: seen for seen in askable_by(asked)}
    session = session_at(asked.runtime, place_of(asked))
    talking = () if session is None else session.agent_ids
    placed = (key for key, (_, at) in here.items() if at is not None and at.spot(reply.channel_id))
    for agent_id in (*talking, *placed):
        if agent_id in here:
            return here[agent_id]
    return meant(asked)


def placed_here(asked: Asked) -> tuple[Seen, ...]:
    """The agents that were placed in this channel."""
    reply = asked.reply
    return tuple(
        seen
        for seen in askable_by(asked)
        if seen[1] is not None and seen[1].spot(reply.channel_id) is not None
    )


def seen_again(runtime: Runtime, agent_id: str) -> Seen:
    """An agent that was found before; raises NotFound."""
    return runtime.home.agents.get(agent_id), presence_of(runtime, agent_id)


def place_of(asked: Asked) -> str:
    """The name of the channel as a place that sessions belong to."""
    return f"{KIND}.{asked.reply.channel_id}"


def is_trusted(asked: Asked, presence: Presence | None) -> bool:
    """Whether the asker is an owner or a user of an agent now."""
    return asked.authority(presence) in {Authority.OWNER, Authority.USER}


def opening(asked: Asked, *seen: Seen, theme: str = "") -> Opening:
    """How a session of the channel is opened with these agents; the fewest hear of it."""
    return Opening(
        agent_ids=tuple(dict.fromkeys(each[0].agent.id for each in seen)),
        opened_by=asked.person.principal_id,
        theme=theme,
        hearing=fewest(*(_hearing(presence, asked.reply.channel_id) for _, presence in seen)),
        guild_id=asked.reply.guild_id,
    )


def _hearing(presence: Presence | None, channel_id: str) -> Hearing:
    spot = None if presence is None else presence.spot(channel_id)
    return Hearing.SESSION if spot is None else spot.hearing
