"""The way to worlds, as the settings name it; nothing that it takes is loaded before it is used."""

from functools import cache
from typing import TYPE_CHECKING, Any

from opencrab.ports.world import WorldLink

if TYPE_CHECKING:
    from opencrab.domain.world.binding import WorldEnvelope
    from opencrab.ports.access.secrets import Secrets
    from opencrab.ports.world import Envelopes, KeyPair, OpenEnvelope
    from opencrab.settings import Settings


class LaterEnvelopes:
    """`ports.world.Envelopes`, loaded by the first envelope: most agents are bound to no world."""

    def new_key(self) -> "KeyPair":
        return _envelopes().new_key()

    def key_id(self, public_key: str) -> str:
        return _envelopes().key_id(public_key)

    def sealed(self, envelope: "WorldEnvelope", private_key: str) -> bytes:
        return _envelopes().sealed(envelope, private_key)

    def opened(self, raw: bytes) -> "OpenEnvelope":
        return _envelopes().opened(raw)

    def proven(self, opened: "OpenEnvelope", public_key: str) -> bool:
        return _envelopes().proven(opened, public_key)


class LaterBus:
    """`ports.world.EnvelopeTransport` to an EventBridge bus, opened by the first message."""

    def __init__(self, bus: str) -> None:
        self._bus = bus
        self._opened = cache(lambda: _bus_named(bus))

    def __repr__(self) -> str:
        return f"LaterBus({self._bus!r})"

    def send(self, raw: bytes, envelope: "WorldEnvelope") -> None:
        self._opened().send(raw, envelope)


def world_of(configured: "Settings", secrets: "Secrets") -> WorldLink | None:
    """The way to worlds; None where no bus leads to any."""
    bus = str(configured.get("world.bus"))
    return WorldLink(LaterEnvelopes(), LaterBus(bus), secrets) if bus else None


@cache
def _envelopes() -> "Envelopes":
    from opencrab.adapters.world_envelope import Ed25519Envelopes

    return Ed25519Envelopes()


def _bus_named(bus: str) -> Any:
    from opencrab.adapters.aws_client import Deferred
    from opencrab.adapters.world_bus import EventBridgeBus

    return EventBridgeBus(Deferred("events"), bus)
