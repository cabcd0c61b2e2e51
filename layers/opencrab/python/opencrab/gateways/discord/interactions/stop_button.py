"""Stop: the button under an answer that is still being written."""

from opencrab.domain.access.authority import Authority
from opencrab.domain.discord.community import KIND, discord_address
from opencrab.domain.errors import Conflict, Refused
from opencrab.domain.turn.turn import Turn
from opencrab.engine.discord.presence import discord_presence
from opencrab.engine.turn.control import stop_turn
from opencrab.gateways.discord.agent_lookup import AgentQuery
from opencrab.gateways.discord.text.embeds import escape_discord_markdown
from opencrab.gateways.discord.text.sentences import discord_sentence
from opencrab.ports.discord import Payload


def press_stop_button(asked: AgentQuery, turn_id: str) -> Payload:
    """Stop a turn; what was said so far stays. Raises Refused, NotFound and Conflict.

    A press that comes again stops nothing more.
    """
    runtime, language = asked.runtime, asked.language
    turn = runtime.home.journal.header(turn_id)
    if not _may_stop_turn_by_interaction(asked, turn):
        raise Refused(discord_sentence(language, "stop_refused"))
    if turn.status.is_end:
        raise Conflict(discord_sentence(language, "stop_late"))
    stop_turn(runtime, turn_id, by=asked.person.principal_id)
    name = runtime.home.agents.get(turn.agent_id).identity.name
    return {"content": discord_sentence(language, "stopping", name=escape_discord_markdown(name))}


def _may_stop_turn_by_interaction(asked: AgentQuery, turn: Turn) -> bool:
    """Check whether a turn answers in this channel, and the user asked it or owns its agent."""
    channel = turn.channel
    is_here = (
        channel is not None
        and channel.kind == KIND
        and discord_address(channel)[0] == asked.reply.channel_id
    )
    if not is_here:
        return False
    if turn.principal_id == asked.person.principal_id:
        return True
    presence = discord_presence(asked.runtime.home.facts, turn.agent_id)
    return asked.authority(presence) is Authority.OWNER
