"""Answers: which function answers which of the commands that show or set something."""

from collections.abc import Callable, Mapping

from opencrab.gateways.discord.agent_lookup import AgentQuery
from opencrab.gateways.discord.views import agents, approvals, memory, models, money
from opencrab.ports.discord import Payload

Handler = Callable[[AgentQuery], Payload]
"""Answers a command with the message to show; raises any OpenCrabError."""

ANSWERS: Mapping[str, Handler] = {
    "approve": approvals.show_approvals_on_discord,
    "agent show": agents.show_agent_on_discord,
    "agent state": agents.show_agent_state_on_discord,
    "agent goals": agents.show_goals_on_discord,
    "memory search": memory.search_memory_on_discord,
    "memory forget": memory.forget_memory_on_discord,
    "model list": models.list_models_on_discord,
    "model set": models.set_model_on_discord,
    "model reset": models.reset_model_on_discord,
    "costs": money.show_costs_on_discord,
    "freeze": money.freeze_agents_on_discord,
    "unfreeze": money.unfreeze_agents_on_discord,
}
"""By the command's name, with its subcommand."""
