"""Outgoing world messages of the local installation: kept until their world acknowledged them."""

import base64
from datetime import datetime

from opencrab.domain.value import Identifier, Value
from opencrab.domain.world.binding import WorldEnvelope

OUTGOING = "world_outgoing"
"""The kind of installation documents that hold messages which no world has acknowledged yet."""

ACKNOWLEDGED = "world_acknowledged"
"""The kind of the documents that remain of acknowledged messages, so that none is sent anew."""

UNACKNOWLEDGED = 500
"""The limit of unacknowledged messages of one agent to its world."""


class OutgoingEnvelope(Value):
    """A sealed envelope on its way to a world; `raw` is base64, empty once acknowledged."""

    world_id: Identifier
    code: int
    sender: str
    at: datetime
    raw: str = ""

    @property
    def frame(self) -> bytes:
        """The envelope as it is sent."""
        return base64.b64decode(self.raw)


def outgoing_world_envelope(raw: bytes, envelope: WorldEnvelope) -> OutgoingEnvelope:
    """Return what is kept of a sealed envelope."""
    return OutgoingEnvelope(
        world_id=envelope.world_id,
        code=envelope.code,
        sender=envelope.sender,
        at=envelope.at,
        raw=base64.b64encode(raw).decode(),
    )


def outgoing_world_message_prefix(sender: str) -> str:
    """Return how the ids of the documents of an agent's messages begin; it has one world."""
    return f"{sender}."


def outgoing_world_envelope_id(envelope: WorldEnvelope) -> str:
    """Return the id of an envelope's document: ordered by sender, then by time."""
    milliseconds = int(envelope.at.timestamp() * 1_000)
    return f"{outgoing_world_message_prefix(envelope.sender)}{milliseconds:015d}.{envelope.nonce}"
