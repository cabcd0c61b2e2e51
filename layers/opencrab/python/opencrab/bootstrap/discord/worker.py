"""What is done with interactions from Discord, in both homes."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opencrab.engine.runtime import Runtime
    from opencrab.engine.turn.pace import MessageOutcome
    from opencrab.ports.turn.queue import Delivery

    Interact = Callable[[Runtime, Delivery], MessageOutcome]


def discord_worker(runtime: "Runtime") -> "Interact | None":
    """What the local process does with interactions; None where Discord is switched off."""
    if runtime.discord is None or runtime.home.interactions is None:
        return None
    from opencrab.gateways.discord.interactions.worker import handle_interaction

    return handle_interaction
