"""Tasking: instructions given in a channel, and the buttons of the panel that shows them."""

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.discord.community import discord_channel
from opencrab.domain.errors import Refused
from opencrab.domain.goals.goal import Goal
from opencrab.engine.discord.presence import discord_presence
from opencrab.engine.goals import instructions
from opencrab.engine.goals.instructions import InstructionGiver, NewInstruction
from opencrab.engine.goals.panel_notice import queue_goal_progress_panel
from opencrab.engine.goals.pausing import require_goal_document
from opencrab.gateways.discord.agent_lookup import (
    AgentQuery,
    agent_seen_again_on_discord,
    is_trusted_discord_user,
    resolve_agent_on_discord,
    words_of_discord_option,
)
from opencrab.gateways.discord.interactions.ask_command import AskIntent, ask_intent_of_interaction
from opencrab.gateways.discord.text.embeds import escape_discord_markdown
from opencrab.gateways.discord.text.sentences import discord_sentence, no_words_in_discord_option
from opencrab.ports.discord import Payload

CANCEL, PAUSE, RESUME = "cn", "pa", "re"
"""What the buttons of a panel want."""


def run_discord_task_command(asked: AgentQuery) -> Payload | None:
    """Give an agent an instruction; its progress panel is the answer.

    Raises Refused, NotFound, Conflict, and Unavailable if the panel cannot be shown yet.
    """
    runtime, reply = asked.runtime, asked.reply
    instruction = words_of_discord_option(asked, "instruction")
    errand = ask_intent_of_interaction(runtime, reply, lambda: _given_to(asked))
    agent_id = str(errand.agent_id)
    new = NewInstruction(instruction=instruction)
    asker = _asker(asked, agent_id, answered=True)
    goal = instructions.start_instruction_as_goal(runtime, agent_id, new, asker, key=reply.id)
    queue_goal_progress_panel(
        runtime.home.deliveries, goal.channel, agent_id, goal.id, key=reply.id, surely=True
    )
    return None


def press_task_button(asked: AgentQuery, what: str, agent_id: str, goal_id: str) -> Payload | None:
    """Cancel, pause or resume an instruction; its panel shows it. Raises Refused, NotFound."""
    runtime, by = asked.runtime, asked.person.principal_id
    goal = _own_goal(asked, agent_id, goal_id, cancels=what == CANCEL)
    if what == CANCEL:
        instructions.cancel_goal(runtime, agent_id, goal.id, by=by)
    elif what == PAUSE:
        instructions.pause_goal_by_label(runtime, agent_id, goal.id, by=by)
    elif what == RESUME:
        instructions.resume_goal(runtime, agent_id, goal.id)
    return None


def steer_task_by_interaction(
    asked: AgentQuery, agent_id: str, goal_id: str, text: str
) -> Payload | None:
    """Send the agent a message to read before its next step; raises Refused, NotFound, Conflict."""
    goal = _own_goal(asked, agent_id, goal_id)
    if not text.strip():
        raise no_words_in_discord_option(asked.language, "text")
    asker = _asker(asked, agent_id, answered=False)
    instructions.steer_goal(asked.runtime, agent_id, goal.id, text, asker=asker, key=asked.reply.id)
    name = asked.runtime.home.agents.get(agent_id).identity.name
    return {
        "content": discord_sentence(asked.language, "steered", name=escape_discord_markdown(name))
    }


def _given_to(asked: AgentQuery) -> AskIntent:
    profile, presence = resolve_agent_on_discord(asked)
    if not is_trusted_discord_user(asked, presence):
        raise Refused(
            discord_sentence(
                asked.language, "task_refused", name=escape_discord_markdown(profile.identity.name)
            ),
            cure=discord_sentence(asked.language, "ask_instead"),
        )
    return AskIntent(agent_id=profile.agent.id)


def _own_goal(asked: AgentQuery, agent_id: str, goal_id: str, *, cancels: bool = False) -> Goal:
    """Return the goal if the user is an owner, or gave it and is still a known user.

    The user who gave it may always cancel it. Raises Refused otherwise.
    """
    goal = require_goal_document(asked.runtime.home.facts, agent_id, goal_id).read(Goal)
    presence = discord_presence(asked.runtime.home.facts, agent_id)
    if asked.authority(presence) is Authority.OWNER:
        return goal
    if goal.principal_id != asked.person.principal_id:
        raise Refused(discord_sentence(asked.language, "goal_refused"))
    if not cancels and not is_trusted_discord_user(asked, presence):
        name = asked.runtime.home.agents.get(agent_id).identity.name
        raise Refused(
            discord_sentence(asked.language, "goal_no_more", name=escape_discord_markdown(name)),
            cure=discord_sentence(asked.language, "goal_no_more_cure"),
        )
    return goal


def _asker(asked: AgentQuery, agent_id: str, *, answered: bool) -> InstructionGiver:
    reply, person = asked.reply, asked.person
    _, presence = agent_seen_again_on_discord(asked.runtime.home, agent_id)
    return InstructionGiver(
        principal_id=person.principal_id,
        name=person.name,
        source=Source.DISCORD,
        authority=asked.authority(presence),
        channel=discord_channel(reply.channel_id, reply.id) if answered else None,
        others_read=reply.guild_id is not None or reply.is_among_others,
    )
