"""The handler of what gateways queue: Discord's interactions, and events of signed requests."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opencrab.engine.runtime import Runtime
    from opencrab.gateways.rest.webhooks.door import AnsweredRequest, AnswersRequests
    from opencrab.ports.turn.queue import Delivery, MessageOutcome
    from opencrab.settings import Settings

WEBHOOK = "webhook"


def handle_queued_interaction(runtime: "Runtime", delivery: "Delivery") -> "MessageOutcome":
    """Handle one message of the interactions queue, with the code of its kind only."""
    from opencrab.gateways.door.request import is_queued_event

    if is_queued_event(delivery.body):
        from opencrab.gateways.door.worker import handle_queued_event

        return handle_queued_event(runtime, delivery)
    from opencrab.gateways.discord.interactions.worker import handle_interaction

    return handle_interaction(runtime, delivery)


def has_interactions(configured: "Settings", runtime: "Runtime") -> bool:
    """Check whether anybody may have queued an interaction: else nobody needs to look."""
    if configured.get("gateway.discord.enabled") or runtime.chats:
        return True
    return bool(runtime.home.facts.page("webhooks", WEBHOOK, limit=1))


def offer_own_channel_door(
    app: Any,
    configured: "Settings",
    runtime: "Runtime",
    load: "Callable[..., Settings]",
    *,
    wake: Callable[[], None],
) -> None:
    """Let an application take signed requests; the door loads with the first of them."""
    from opencrab.gateways.rest.local_parts import offer_channel_door

    made = list["AnswersRequests"]()

    def answer(
        kind: str, name: str, headers: Mapping[str, str], body: bytes, now: float
    ) -> "AnsweredRequest":
        if not made:
            from opencrab.bootstrap.channels.own_door import own_channel_door

            made.append(own_channel_door(configured, runtime, load, wake))
        return made[0](kind, name, headers, body, now)

    offer_channel_door(app, answer)
