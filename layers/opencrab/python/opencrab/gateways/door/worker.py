"""Worker: what becomes of a received event after the door has queued it.

A kind has a module with the function `handle_received_event`, a `HandleEvent`. What it does is done
once, however often the message comes.
"""

import logging
from collections.abc import Mapping
from importlib import import_module
from typing import Protocol

from opencrab.domain.errors import OpenCrabError, Unavailable
from opencrab.engine.runtime import Runtime
from opencrab.gateways.door.request import QueuedEvent, parse_queued_event
from opencrab.ports.turn.queue import Delivery, MessageOutcome

TRIES = 8
"""Deliveries until an event is given up, in about eight minutes."""

_BACKOFF_SECONDS = 2

HANDLERS: Mapping[str, str] = {
    "webhook": "opencrab.gateways.door.webhook_turn",
    "email": "opencrab.gateways.door.email_event",
    "line": "opencrab.gateways.door.line_event",
    "slack": "opencrab.gateways.door.slack_event",
    "telegram": "opencrab.gateways.door.telegram_event",
}
"""By kind, the module whose `handle_received_event` does what an event asks for."""

log = logging.getLogger(__name__)


class HandleEvent(Protocol):
    """Does what an event asks for; does nothing more if it is called again."""

    def __call__(self, runtime: Runtime, received: QueuedEvent) -> None:
        """Handle an event.

        Raises Unavailable (it is handled again later) and any other OpenCrabError or ValueError
        (it is given up, and the reason is kept with it).
        """


def handle_queued_event(runtime: Runtime, delivery: Delivery) -> MessageOutcome:
    """Handle what the door has queued; what cannot be done goes to the dead-letter queue."""
    try:
        received = parse_queued_event(delivery.body)
        handler = HANDLERS.get(received.kind)
        if handler is None:
            return _give_up(runtime, delivery, f"unknown kind {received.kind!r}")
        handle: HandleEvent = import_module(handler).handle_received_event
        handle(runtime, received)
    except Unavailable as error:
        if delivery.count >= TRIES:
            return _give_up(runtime, delivery, error.message)
        log.warning("event failed, retrying: error=%s", error.message)
        if runtime.home.interactions is not None:
            runtime.home.interactions.continue_later(
                delivery.receipt, _BACKOFF_SECONDS**delivery.count
            )
        return MessageOutcome.CONTINUE
    except (OpenCrabError, ValueError, RecursionError) as error:
        return _give_up(runtime, delivery, str(error))
    return MessageOutcome.FINISHED


def _give_up(runtime: Runtime, delivery: Delivery, why: str) -> MessageOutcome:
    log.warning("event moved to the dead-letter queue: group=%s, reason=%s", delivery.group, why)
    queue = runtime.home.interactions
    if queue is not None:
        queue.dead_letter(delivery.body, group=delivery.group, reason=why[:500])
    return MessageOutcome.FINISHED
