"""Worlds: how messages are signed, checked and carried between an agent and its world."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from opencrab.domain.world.binding import WorldBinding, WorldEnvelope
from opencrab.ports.access.secrets import Secrets


@dataclass(frozen=True)
class KeyPair:
    """A key in hexadecimal digits: the private one, which is not shown, the public one, its id."""

    private_key: str = field(repr=False)
    public_key: str
    key_id: str


@dataclass(frozen=True)
class OpenEnvelope:
    """An envelope as it was read; nobody has looked at its signature yet."""

    envelope: WorldEnvelope
    signed: bytes
    signature: bytes
    digest: str


class Envelopes(Protocol):
    """The layout of envelopes, and their signatures."""

    def new_key(self) -> KeyPair:
        """A new key."""

    def key_id(self, public_key: str) -> str:
        """The id of a public key; raises Invalid for what is none."""

    def sealed(self, envelope: WorldEnvelope, private_key: str) -> bytes:
        """An envelope as it is sent; raises TooLarge, and Invalid for what has no wire form."""

    def opened(self, raw: bytes) -> OpenEnvelope:
        """Read an envelope.

        Raises Invalid for bytes that are none or of another version, TooLarge for too many.
        """

    def proven(self, opened: OpenEnvelope, public_key: str) -> bool:
        """Whether this key made the signature."""


class EnvelopeTransport(Protocol):
    """What carries envelopes to worlds."""

    def send(self, raw: bytes, envelope: WorldEnvelope) -> None:
        """Hand an envelope over; the same one again does no harm. Raises Unavailable."""


@dataclass(frozen=True)
class WorldLink:
    """The way of an installation to worlds; private keys are in its secrets, by name."""

    envelopes: Envelopes
    transport: EnvelopeTransport
    secrets: Secrets


class WorldPost(Protocol):
    """What actions and the runtime send messages with."""

    def place(self, agent_id: str) -> WorldBinding:
        """An agent's place in its world; raises Refused for one that is bound to none."""

    def send(
        self,
        agent_id: str,
        name: str,
        payload: Mapping[str, Any],
        *,
        nonce: str,
        at: datetime,
        charge: int = 1,
    ) -> WorldBinding:
        """Pay for a message and send it; the same nonce again is paid for once.

        Raises NotFound, Invalid, TooLarge, Refused (not bound), Exhausted and Unavailable.
        """
