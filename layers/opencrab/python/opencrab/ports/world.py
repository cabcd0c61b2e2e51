"""Worlds: how messages are signed, checked and carried between an agent and its world."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from opencrab.ports.access.secrets import Secrets

if TYPE_CHECKING:
    from opencrab.domain.world.binding import WorldBinding, WorldEnvelope


@dataclass(frozen=True)
class KeyPair:
    """A key in hexadecimal: the private key, which `repr` hides, the public key, and its id."""

    private_key: str = field(repr=False)
    public_key: str
    key_id: str


@dataclass(frozen=True)
class OpenEnvelope:
    """An envelope as it was read; its signature is not verified yet."""

    envelope: "WorldEnvelope"
    signed: bytes
    signature: bytes
    digest: str


class Envelopes(Protocol):
    """The wire format and signatures of envelopes."""

    def new_key(self) -> KeyPair:
        """Generate a key pair."""

    def key_id(self, public_key: str) -> str:
        """Return the id of a public key; raises Invalid if it is none."""

    def seal(self, envelope: "WorldEnvelope", private_key: str) -> bytes:
        """Sign and encode an envelope; raises TooLarge, and Invalid if it has no wire form."""

    def open(self, raw: bytes) -> OpenEnvelope:
        """Decode an envelope, without verifying it.

        Raises Invalid for other bytes or another version, TooLarge for too many.
        """

    def is_signed_by(self, opened: OpenEnvelope, public_key: str) -> bool:
        """Check whether this key made the signature."""


class EnvelopeTransport(Protocol):
    """A transport of envelopes to worlds."""

    def send(self, raw: bytes, envelope: "WorldEnvelope") -> None:
        """Send an envelope; a repeat does no harm. Raises Unavailable."""


@dataclass(frozen=True)
class WorldLink:
    """An installation's connection to worlds; private keys are in its secrets, by name."""

    envelopes: Envelopes
    transport: EnvelopeTransport
    secrets: Secrets


class WorldPost(Protocol):
    """The service by which actions and the runtime send messages to worlds."""

    def place(self, agent_id: str) -> "WorldBinding":
        """Return an agent's binding to its world; raises Refused if it has none."""

    def send(
        self,
        agent_id: str,
        name: str,
        payload: Mapping[str, Any],
        *,
        nonce: str,
        at: datetime,
        charge: int = 1,
    ) -> "WorldBinding":
        """Pay for a message and send it; the same nonce again is paid for once.

        Raises NotFound, Invalid, TooLarge, Refused (not bound), Exhausted and Unavailable.
        """
