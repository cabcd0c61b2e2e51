"""World bus: envelopes to worlds as EventBridge events, and out of those that come from worlds.

An event's detail is `{"v": 1, "envelope": base64, "world", "code", "sender", "recipient"}`; all but
the envelope is there for rules to choose by, and believed by nobody.
"""

import base64
import binascii
import json
from typing import Any

from opencrab.adapters.aws_client import AWS_ERRORS, aws_unavailable_error
from opencrab.domain.errors import Invalid, Unavailable
from opencrab.domain.world.binding import ENVELOPE_BYTES, WorldEnvelope

SOURCE = "opencrab.agent"
DETAIL_TYPE = "WorldMessage"

_DETAIL_BYTES = 2 * ENVELOPE_BYTES


class EventBridgeBus:
    """`ports.world.EnvelopeTransport` by `events:PutEvents` on one bus."""

    def __init__(self, client: Any, bus: str) -> None:
        self._client = client
        self._bus = bus

    def send(self, raw: bytes, envelope: WorldEnvelope) -> None:
        entry = {
            "Source": SOURCE,
            "DetailType": DETAIL_TYPE,
            "Detail": json.dumps(
                eventbridge_detail_of_world_envelope(raw, envelope), separators=(",", ":")
            ),
            "EventBusName": self._bus,
        }
        try:
            answer = self._client.put_events(Entries=[entry])
        except AWS_ERRORS as error:
            raise aws_unavailable_error(
                f"world event bus {self._bus!r}", error, permissions="events:PutEvents"
            ) from error
        if answer.get("FailedEntryCount"):
            code = str(answer["Entries"][0].get("ErrorCode", "an error"))
            raise Unavailable(
                f"the world event bus rejected the message: {code[:100]}",
                cure="try again later; the log names the message",
            )


def eventbridge_detail_of_world_envelope(raw: bytes, envelope: WorldEnvelope) -> dict[str, Any]:
    """Return the `detail` of an event that carries an envelope."""
    return {
        "v": 1,
        "envelope": base64.b64encode(raw).decode(),
        "world": envelope.world_id,
        "code": envelope.code,
        "sender": envelope.sender,
        "recipient": envelope.recipient,
    }


def world_envelope_of_eventbridge_event(body: str) -> bytes:
    """Return the envelope in an event as SQS delivers it; raise Invalid."""
    if len(body) > 2 * _DETAIL_BYTES:
        raise Invalid("the event is too large for an envelope")
    try:
        packed = json.loads(body)["detail"]["envelope"]
        return base64.b64decode(packed, validate=True)
    except (ValueError, TypeError, KeyError, binascii.Error, RecursionError) as error:
        raise Invalid("the event contains no envelope") from error
