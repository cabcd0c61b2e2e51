"""What is done with interactions from Discord, in both homes."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opencrab.engine.runtime import Runtime
    from opencrab.engine.turn.pace import Outcome
    from opencrab.ports.turn.queue import Delivery

    Interact = Callable[[Runtime, Delivery], Outcome]


def interactor() -> "Callable[[Mapping[str, Any], Any], dict[str, Any]]":
    """What the function behind the queue of interactions does; no other one loads what it takes."""
    from opencrab.bootstrap.aws.functions import worker
    from opencrab.gateways.discord.interactions.worker import handle

    made = worker()
    return lambda event, context: made.interactions(event, context, handle)


def interact(runtime: "Runtime") -> "Interact | None":
    """What the local process does with interactions; None where Discord is switched off."""
    if runtime.discord is None or runtime.home.interactions is None:
        return None
    from opencrab.gateways.discord.interactions.worker import handle

    return handle
