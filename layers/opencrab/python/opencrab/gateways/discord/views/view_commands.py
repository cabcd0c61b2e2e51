"""Answers: which function answers which of the commands that show or set something."""

from collections.abc import Callable, Mapping

from opencrab.gateways.discord.agent_lookup import AgentQuery
from opencrab.gateways.discord.views import agents, approvals, memory, models, money
from opencrab.ports.discord import Payload

Handler = Callable[[AgentQuery], Payload]
"""Answers a command with the message to show; raises any OpenCrabError."""

ANSWERS: Mapping[str, Handler] = {
    "approve": approvals.show_approvals_view,
    "agent show": agents.show_agent_view,
    "agent state": agents.show_agent_state_view,
    "agent goals": agents.show_goals_view,
    "memory search": memory.search_memory_view,
    "memory forget": memory.forget_view,
    "model list": models.list_models_view,
    "model set": models.set_model_view,
    "model reset": models.reset_model_view,
    "costs": money.show_costs_view,
    "freeze": money.freeze_view,
    "unfreeze": money.unfreeze_view,
}
"""By the command's name, with its subcommand."""
