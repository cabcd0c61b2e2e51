"""Polling: asks Telegram for updates, for a computer that Telegram cannot reach.

What comes is queued like a request to the door; only then Telegram forgets it.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from opencrab.domain.chat.people import TELEGRAM
from opencrab.domain.errors import OpenCrabError, Unavailable
from opencrab.gateways.door.door import SendEvent, queue_name_of_request
from opencrab.gateways.door.request import SignedRequest, encode_queued_event
from opencrab.gateways.door.telegram import received_telegram_update

PAUSES = (1.0, 2.0, 5.0, 15.0, 60.0)
"""Seconds between tries while Telegram cannot be asked."""

log = logging.getLogger(__name__)


class UpdateSource(Protocol):
    """Where updates come from."""

    def next_updates(self, after: int) -> tuple[Mapping[str, Any], ...]:
        """Wait for updates from an id on; those before are forgotten by Telegram."""


def poll_telegram_updates(
    source: UpdateSource,
    send: SendEvent,
    *,
    stopping: Callable[[], bool],
    pause: Callable[[float], object],
) -> None:
    """Queue updates until it is time to stop; an error is logged and followed by a pause."""
    after, failures = 0, 0
    while not stopping():
        try:
            updates = source.next_updates(after)
            for update in updates:
                if stopping():
                    return
                after = max(after, _queue_or_drop(update, send) + 1)
        except OpenCrabError as error:
            if not failures:
                log.warning(
                    "cannot ask Telegram for updates, retrying: error=%s, cure=%s",
                    error.message,
                    error.cure,
                )
            pause(PAUSES[min(failures, len(PAUSES) - 1)])
            failures += 1
        else:
            failures = 0


def _queue_or_drop(update: Mapping[str, Any], send: SendEvent) -> int:
    """Queue an update; one that can never be queued would come again and again before all others.

    Return its id, 0 for a malformed one.
    """
    update_id = update.get("update_id")
    try:
        queue_telegram_update(update, send)
    except Unavailable:
        raise
    except (OpenCrabError, ValueError, RecursionError) as error:
        log.warning("update of Telegram dropped: id=%s, error=%s", update_id, type(error).__name__)
    return update_id if isinstance(update_id, int) else 0


def queue_telegram_update(update: Mapping[str, Any], send: SendEvent) -> None:
    """Queue an update, if an agent may have to answer it."""
    event = received_telegram_update(dict(update))
    if event is not None:
        request = SignedRequest(TELEGRAM, "", {}, b"", 0)
        send(
            encode_queued_event(request, event),
            group=queue_name_of_request(TELEGRAM, "", event.group),
            deduplication=queue_name_of_request(TELEGRAM, "", event.id),
        )
