"""The connection to worlds from the settings; its code is loaded at its first use."""

from functools import cache
from typing import TYPE_CHECKING, Any

from opencrab.ports.world import WorldLink

if TYPE_CHECKING:
    from opencrab.domain.world.binding import WorldEnvelope
    from opencrab.engine.runtime import Runtime
    from opencrab.engine.world.outgoing import StoredEnvelopes
    from opencrab.gateways.world.connection import WorldConnection
    from opencrab.ports.access.secrets import Secrets
    from opencrab.ports.clock import Clock
    from opencrab.ports.documents import Documents
    from opencrab.ports.world import Envelopes, KeyPair, OpenEnvelope
    from opencrab.settings import Settings


class LaterEnvelopes:
    """`ports.world.Envelopes`, loaded at the first envelope: most agents are bound to no world."""

    def new_key(self) -> "KeyPair":
        return _envelopes().new_key()

    def key_id(self, public_key: str) -> str:
        return _envelopes().key_id(public_key)

    def seal(self, envelope: "WorldEnvelope", private_key: str) -> bytes:
        return _envelopes().seal(envelope, private_key)

    def open(self, raw: bytes) -> "OpenEnvelope":
        return _envelopes().open(raw)

    def is_signed_by(self, opened: "OpenEnvelope", public_key: str) -> bool:
        return _envelopes().is_signed_by(opened, public_key)


class LaterBus:
    """`ports.world.EnvelopeTransport` to an EventBridge bus, opened at the first message."""

    def __init__(self, bus: str) -> None:
        self._bus = bus
        self._opened = cache(lambda: _bus_named(bus))

    def __repr__(self) -> str:
        return f"LaterBus({self._bus!r})"

    def send(self, raw: bytes, envelope: "WorldEnvelope") -> None:
        self._opened().send(raw, envelope)


def configured_world_link(configured: "Settings", secrets: "Secrets") -> WorldLink | None:
    """Return the connection to worlds; None if `world.bus` is empty."""
    bus = str(configured.get("world.bus"))
    return WorldLink(LaterEnvelopes(), LaterBus(bus), secrets) if bus else None


class LaterOutgoing:
    """The local outbox of messages to worlds, loaded at the first message or connection."""

    def __init__(self, facts: "Documents", clock: "Clock") -> None:
        self._opened = cache(lambda: _stored_envelopes(facts, clock))

    def send(self, raw: bytes, envelope: "WorldEnvelope") -> None:
        self.opened().send(raw, envelope)

    def opened(self) -> "StoredEnvelopes":
        """Return the outbox itself."""
        return self._opened()


class LaterWorldGate:
    """The entrance of worlds to a local installation, loaded with the first that connects."""

    def __init__(self, runtime: "Runtime") -> None:
        self._runtime = runtime

    def open(self) -> "WorldConnection":
        """Begin a connection with a world."""
        from opencrab.gateways.world.connection import WorldGate

        link = self._runtime.world
        if link is None or not isinstance(link.transport, LaterOutgoing):
            raise AssertionError("the runtime has no local outbox of worlds")
        return WorldGate(self._runtime, link.transport.opened()).open()


def local_world_link(secrets: "Secrets", facts: "Documents", clock: "Clock") -> WorldLink:
    """Return the connection to worlds of a local installation, to which they come themselves."""
    return WorldLink(LaterEnvelopes(), LaterOutgoing(facts, clock), secrets)


@cache
def _envelopes() -> "Envelopes":
    from opencrab.adapters.world_envelope import Ed25519Envelopes

    return Ed25519Envelopes()


def _bus_named(bus: str) -> Any:
    from opencrab.adapters.aws_client import DeferredAwsClient
    from opencrab.adapters.world_bus import EventBridgeBus

    return EventBridgeBus(DeferredAwsClient("events"), bus)


def _stored_envelopes(facts: "Documents", clock: "Clock") -> "StoredEnvelopes":
    from opencrab.engine.world.outgoing import StoredEnvelopes

    return StoredEnvelopes(facts, clock)
