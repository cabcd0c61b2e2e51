"""World gateway: what a queue brings from worlds, given to the engine, logged, and retried.

A message that is refused is logged and goes: it would be refused again. One that only could not be
taken now comes back.
"""

import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from opencrab.domain.errors import (
    Exhausted,
    Invalid,
    NotFound,
    OpenCrabError,
    Refused,
)
from opencrab.engine.runtime import Runtime
from opencrab.engine.world.binding import receive_world_message

log = logging.getLogger(__name__)

Unpack = Callable[[str], bytes]
"""Takes an envelope out of what the queue brings; raises Invalid."""

_FOR_GOOD = (Invalid, Refused, NotFound, Exhausted)


def world_messages_from_queue(
    runtime: Runtime, event: Mapping[str, Any], unpack: Unpack
) -> dict[str, Any]:
    """Handle a batch of messages and return those that must be delivered again."""
    again = [
        {"itemIdentifier": record["messageId"]}
        for record in event["Records"]
        if not _receive_message(runtime, record, unpack)
    ]
    return {"batchItemFailures": again}


def _receive_message(runtime: Runtime, record: Mapping[str, Any], unpack: Unpack) -> bool:
    try:
        outcome = receive_world_message(
            runtime, unpack(record["body"]), arrived_at=_arrival(record)
        )
    except _FOR_GOOD as error:
        _say_refused(record, error)
        return True
    except Exception as error:
        if isinstance(error, OpenCrabError):
            log.warning(
                "world message failed, retrying: id=%s, error=%s",
                record["messageId"],
                error.message,
            )
        else:
            log.exception("world message failed, retrying: id=%s", record["messageId"])
        return False
    log.info("world message handled: id=%s, outcome=%s", record["messageId"], outcome.value)
    return True


def _say_refused(record: Mapping[str, Any], error: OpenCrabError) -> None:
    log.warning(
        "world message rejected: id=%s, code=%s, error=%s, cure=%s",
        record["messageId"],
        error.code,
        error.message,
        error.cure,
    )


def _arrival(record: Mapping[str, Any]) -> datetime | None:
    """Return when the queue received the message, with which its own time is compared."""
    told = record.get("attributes", {}).get("SentTimestamp")
    return None if told is None else datetime.fromtimestamp(int(told) / 1_000, tz=UTC)
