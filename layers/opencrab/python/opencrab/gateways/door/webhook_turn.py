"""What was sent to a webhook, out of the queue: a message for the webhook's agent."""

from opencrab.engine.runtime import Runtime
from opencrab.engine.webhooks.received import receive_webhook_event
from opencrab.gateways.door.request import QueuedEvent


def handle_received_event(runtime: Runtime, received: QueuedEvent) -> None:
    """Admit the event; raises the errors of `receive_webhook_event`."""
    event = received.event
    receive_webhook_event(runtime, received.name, event.id, event.text, event.notes)
