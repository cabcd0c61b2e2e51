"""The Lambda function that handles Discord's interactions and received events from their queue."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from opencrab.bootstrap.aws.functions import lambda_worker
from opencrab.bootstrap.channels.interactions import handle_queued_interaction
from opencrab.gateways.discord.interactions.worker import handle_interaction
from opencrab.gateways.door.request import is_queued_event

if TYPE_CHECKING:
    from opencrab.engine.runtime import Runtime
    from opencrab.ports.turn.queue import Delivery, MessageOutcome


def aws_discord_interaction_worker() -> Callable[[Mapping[str, Any], Any], dict[str, Any]]:
    """Build the handler of the interactions queue; no other function imports its code.

    That of Discord is loaded at the start, as people wait for it.
    """
    made = lambda_worker()

    def handle(runtime: "Runtime", delivery: "Delivery") -> "MessageOutcome":
        received = is_queued_event(delivery.body)
        return (handle_queued_interaction if received else handle_interaction)(runtime, delivery)

    return lambda event, context: made().run_interactions(event, context, handle)
