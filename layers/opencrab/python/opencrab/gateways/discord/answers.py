"""Answers: which function answers which of the commands that show or set something."""

from collections.abc import Callable, Mapping

from opencrab.gateways.discord import (
    show_agents,
    show_approvals,
    show_memory,
    show_models,
    show_money,
)
from opencrab.gateways.discord.asked import Asked
from opencrab.ports.discord import Payload

Handler = Callable[[Asked], Payload]
"""Answers a command with the message to show; raises any OpenCrabError."""

ANSWERS: Mapping[str, Handler] = {
    "approve": show_approvals.show_approvals,
    "agent show": show_agents.show_agent,
    "agent state": show_agents.show_state,
    "agent goals": show_agents.show_goals,
    "memory search": show_memory.search,
    "memory forget": show_memory.forget,
    "model list": show_models.list_models,
    "model set": show_models.set_model,
    "model reset": show_models.reset_model,
    "costs": show_money.show_costs,
    "freeze": show_money.freeze,
    "unfreeze": show_money.unfreeze,
}
"""By the command's name, with its subcommand."""
