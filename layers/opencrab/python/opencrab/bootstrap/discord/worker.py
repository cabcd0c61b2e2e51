"""The handler of Discord's interactions in the local process."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opencrab.engine.runtime import Runtime
    from opencrab.ports.turn.queue import Delivery, MessageOutcome

    Interact = Callable[[Runtime, Delivery], MessageOutcome]


def discord_worker_from_settings(runtime: "Runtime") -> "Interact | None":
    """Return the handler of queued interactions; None if Discord is disabled."""
    if runtime.discord is None or runtime.home.interactions is None:
        return None
    from opencrab.gateways.discord.interactions.worker import handle_interaction

    return handle_interaction
