"""The function behind the queue of Discord's interactions, and what it alone loads."""

from collections.abc import Callable, Mapping
from typing import Any

from opencrab.bootstrap.aws.functions import turn_worker
from opencrab.gateways.discord.interactions.worker import handle_interaction


def discord_interaction_worker() -> Callable[[Mapping[str, Any], Any], dict[str, Any]]:
    """What the function behind the queue of interactions does; no other one loads what it takes."""
    made = turn_worker()
    return lambda event, context: made.interactions(event, context, handle_interaction)
