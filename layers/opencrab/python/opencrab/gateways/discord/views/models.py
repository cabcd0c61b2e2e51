"""Showing models: which ones an agent thinks with, and choosing others from its next turn on."""

from typing import Any

from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.agent import Profile
from opencrab.domain.errors import Invalid
from opencrab.domain.models.routing import Use
from opencrab.engine.agents.settings import set_model_of_agent
from opencrab.engine.models.effective_choice import effective_models
from opencrab.engine.models.preferences import current_model_preferences
from opencrab.gateways.discord.agent_lookup import AgentQuery, agent_of_discord_command
from opencrab.gateways.discord.text.embeds import (
    Colour,
    discord_embed_lines_that_fit,
    discord_embeds_message,
    escape_discord_markdown,
    make_embed,
    one_discord_line,
)
from opencrab.gateways.discord.text.view_sentences import discord_term, discord_text_of_view

ALL_USES = "all"
"""What stands for every use that has no model of its own."""

_NAME = 264


def list_models_on_discord(asked: AgentQuery) -> dict[str, Any]:
    """Show the model that the next turn asks first for each use, and the aliases."""
    profile, presence = agent_of_discord_command(asked)
    private = asked.authority(presence) is Authority.OWNER
    return _models_message(asked, profile, colour=Colour.CALM, private=private)


def set_model_on_discord(asked: AgentQuery) -> dict[str, Any]:
    """Set an agent's model for one use, or for all uses that have none of their own."""
    profile, presence = agent_of_discord_command(asked)
    asked.require_owner(profile, presence)
    wanted = str(asked.options.get("model", "")).strip()
    if not wanted:
        raise Invalid(
            discord_text_of_view(asked.language, "which_model"),
            field="model",
            cure=discord_text_of_view(asked.language, "which_model_cure"),
        )
    after = set_model_of_agent(asked.runtime, profile.agent.id, _use(asked), wanted)
    return _models_message(asked, after, colour=Colour.GOOD, private=True, note="next_turn")


def reset_model_on_discord(asked: AgentQuery) -> dict[str, Any]:
    """Reset a use, or all of them, to the installation's model."""
    profile, presence = agent_of_discord_command(asked)
    asked.require_owner(profile, presence)
    after = set_model_of_agent(asked.runtime, profile.agent.id, _use(asked), None)
    return _models_message(asked, after, colour=Colour.GOOD, private=True, note="next_turn")


def _use(asked: AgentQuery) -> Use | None:
    """Return the use that the command names; None for all."""
    wanted = str(asked.options.get("use") or ALL_USES).strip().lower()
    if wanted == ALL_USES:
        return None
    if wanted not in set(Use):
        raise Invalid(
            discord_text_of_view(asked.language, "no_use", use=wanted[:100]),
            field="use",
            cure=discord_text_of_view(asked.language, "uses_are", uses=", ".join((*Use, ALL_USES))),
        )
    return Use(wanted)


def _models_message(
    asked: AgentQuery, profile: Profile, *, colour: Colour, private: bool, note: str = ""
) -> dict[str, Any]:
    language, runtime = asked.language, asked.runtime
    current_model_preferences(runtime)
    fields = []
    for use, chosen in effective_models(runtime.models, profile.agent).items():
        rows = [
            one_discord_line(chosen.model, _NAME),
            f"-# {discord_term(language, f'by_{chosen.by}')}",
        ]
        if chosen.problem and private:
            rows.append(f"⚠️ {one_discord_line(chosen.problem, _NAME)}")
        fields.append((discord_term(language, use.value), discord_embed_lines_that_fit(rows)))
    aliases = runtime.models.routing.aliases
    named = [
        f"**{escape_discord_markdown(name)}** → {one_discord_line(to, _NAME)}"
        for name, to in sorted(aliases.items())
    ]
    if named:
        fields.append(
            (discord_text_of_view(language, "aliases"), discord_embed_lines_that_fit(named))
        )
    title = discord_text_of_view(
        language, "models_of", name=escape_discord_markdown(profile.agent.name)
    )
    told = discord_text_of_view(language, note) if note else ""
    return discord_embeds_message(make_embed(title, told, fields=fields, colour=colour))
