"""The demo world at work: it connects to an installation, and speaks nothing but the protocol.

Each message is verified, handled once and acknowledged after the write; its own messages are resent
until they are acknowledged. Its time stands still while nobody is connected.
"""

import json
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from opencrab.domain.agents.agent import AgentStatus
from opencrab.domain.errors import Invalid, Refused, Unavailable
from opencrab.domain.identifier import content_hash
from opencrab.domain.world.binding import WorldEnvelope, WorldRole
from opencrab.domain.world.catalogue import (
    inbound_world_messages,
    outbound_world_message_by_code,
    outbound_world_messages,
    world_value_from_wire,
)
from opencrab.domain.world.demo.rules import (
    admit_demo_world_citizens,
    answer_demo_world_citizen,
    begin_next_hour_of_demo_world,
)
from opencrab.domain.world.demo.state import DemoCitizen, DemoMessage, DemoState
from opencrab.engine.world.connection import GATEWAY, JOIN
from opencrab.ports.clock import Clock
from opencrab.ports.world import Envelopes, KeyPair

log = logging.getLogger(__name__)

IN_FLIGHT = 50
RESEND_MS = 5_000
_LOOK_SECONDS = 0.2
_RETRY_SECONDS = 1.0
_JOIN_SECONDS = 15.0
_MS = 1_000


class DemoMailbox(Protocol):
    """The store of a demo world."""

    def digest_of_handled(self, nonce: str) -> str | None: ...

    def commit(
        self,
        state: DemoState,
        messages: list[DemoMessage],
        handled: tuple[str, str] | None = None,
    ) -> None: ...

    def open_mail(self, limit: int) -> list[Any]: ...

    def keep_sealed(self, number: int, raw: bytes, digest: str) -> None: ...

    def mark_done(self, digest: str) -> None: ...


class WorldSocket(Protocol):
    """The world's side of a connection; its methods raise Unavailable when it ends."""

    def send(self, frame: str | bytes) -> None: ...

    def receive(self, seconds: float) -> str | bytes | None: ...

    def close(self) -> None: ...


@dataclass
class DemoWorld:
    """A demo world; `hour_seconds` is how long a simulated hour, its cycle, lasts."""

    store: DemoMailbox
    envelopes: Envelopes
    key: KeyPair
    state: DemoState
    clock: Clock
    hour_seconds: float
    tell: Callable[[str, dict[str, Any]], None]
    stopping: threading.Event = field(default_factory=threading.Event)

    def run(self, connect: Callable[[], WorldSocket], hours: int | None = None) -> None:
        """Live until stopped, or until so many simulated hours are over and everything is told."""
        while not self.stopping.is_set():
            try:
                socket = connect()
            except Unavailable as error:
                self.tell("waits", {"why": error.message})
                self.stopping.wait(_RETRY_SECONDS)
                continue
            try:
                _Session(self, socket).live(hours)
            except Unavailable as error:
                self.tell("lost", {"why": error.message})
                self.stopping.wait(_RETRY_SECONDS)
            finally:
                socket.close()

    def change(
        self,
        after: DemoState,
        messages: list[DemoMessage],
        handled: tuple[str, str] | None = None,
    ) -> None:
        """Store the next state with its messages, then live on with it."""
        self.store.commit(after, messages, handled)
        self.state = after


class _Session:
    """One connection of the demo world."""

    def __init__(self, world: DemoWorld, socket: WorldSocket) -> None:
        self._world = world
        self._socket = socket
        self._sent: dict[str, float] = {}
        self._next_hour = 0.0

    def live(self, hours: int | None) -> None:
        """Exchange messages, and let the hours pass, until the connection ends."""
        world = self._world
        self._join()
        self._next_hour = self._now() + (world.hour_seconds * _MS if world.state.cycle else 0)
        while not world.stopping.is_set():
            if self._now() >= self._next_hour and not self._pass_hour(hours):
                return
            self._send_mail()
            frame = self._socket.receive(_LOOK_SECONDS)
            if isinstance(frame, bytes):
                self._hear(frame)
            elif frame is not None:
                self._settle(frame)

    def _now(self) -> float:
        return self._world.clock.monotonic_ms()

    def _join(self) -> None:
        """Sign the installation's challenge, and let the agents in that are bound here."""
        world = self._world
        hello = _parse_reply(self._socket.receive(_JOIN_SECONDS), "hello")
        join = WorldEnvelope(
            world_id=world.state.world_id,
            code=JOIN,
            sender=world.key.key_id,
            recipient=GATEWAY,
            nonce=content_hash(f"join {hello['challenge']}".encode())[:32],
            reply_to=str(hello["challenge"]),
            at=world.clock.now(),
        )
        self._socket.send(world.envelopes.seal(join, world.key.private_key))
        citizens = _parse_reply(self._socket.receive(_JOIN_SECONDS), "joined")["citizens"]
        found = [
            DemoCitizen(
                key_id=world.envelopes.key_id(each["public_key"]),
                public_key=each["public_key"],
                role=WorldRole(each["role"]),
            )
            for each in citizens
        ]
        after, messages = admit_demo_world_citizens(world.state, found)
        if messages:
            world.change(after, messages)
        world.tell("joined", {"count": len(found)})

    def _pass_hour(self, hours: int | None) -> bool:
        """Begin the next hour; return False if all hours are over, and everything is told."""
        world = self._world
        if hours is not None and world.state.cycle >= hours:
            if not world.store.open_mail(1):
                world.stopping.set()
            return not world.stopping.is_set()
        world.change(*begin_next_hour_of_demo_world(world.state))
        self._next_hour = self._now() + world.hour_seconds * _MS
        world.tell("hour", {"state": world.state})
        return True

    def _send_mail(self) -> None:
        """Send what is new, and again what was not acknowledged for too long."""
        world, now = self._world, self._now()
        for mail in world.store.open_mail(IN_FLIGHT):
            raw = mail.raw
            if raw is None:
                raw = self._seal(mail.number, mail.message)
                world.store.keep_sealed(mail.number, raw, content_hash(raw))
            digest = content_hash(raw)
            if digest in self._sent and now - self._sent[digest] < RESEND_MS:
                continue
            self._sent[digest] = now
            self._socket.send(raw)

    def _seal(self, number: int, message: DemoMessage) -> bytes:
        world = self._world
        envelope = WorldEnvelope(
            world_id=world.state.world_id,
            code=_CODES[message.name],
            sender=world.key.key_id,
            recipient=message.to,
            nonce=content_hash(f"{world.key.key_id} {number}".encode())[:32],
            reply_to=message.reply_to,
            at=world.clock.now(),
            body=message.body,
        )
        return world.envelopes.seal(envelope, world.key.private_key)

    def _settle(self, frame: str) -> None:
        """Handle what the installation says of a message that it was sent."""
        told = _parse_reply(frame, "ack", "refused", "later")
        digest = str(told.get("frame", ""))
        if told["type"] == "later":
            self._sent[digest] = self._now() - RESEND_MS + _RETRY_SECONDS * _MS
            return
        if told["type"] == "refused":
            self._world.tell("refused", {"why": str(told.get("error", ""))[:200]})
        self._sent.pop(digest, None)
        self._world.store.mark_done(digest)

    def _hear(self, raw: bytes) -> None:
        """Verify an agent's message, carry it out once, and acknowledge it."""
        digest = content_hash(raw)
        try:
            self._carry_out(raw, digest)
        except (Invalid, Refused) as error:
            log.warning("message of an agent rejected: error=%s", error.message)
            self._answer("refused", digest, error=error.message)
            return
        self._answer("ack", digest)

    def _carry_out(self, raw: bytes, digest: str) -> None:
        world = self._world
        opened = world.envelopes.open(raw)
        told = opened.envelope
        citizen = world.state.citizens.get(told.sender)
        if citizen is None or not world.envelopes.is_signed_by(opened, citizen.public_key):
            raise Refused("the sender is no citizen, or the signature is another's")
        message = outbound_world_message_by_code(told.code)
        if told.world_id != world.state.world_id or message is None:
            raise Invalid("this message is for another world, or of no known kind")
        if message.other != told.recipient:
            raise Invalid(f"{message.name} is for {message.other}")
        before = world.store.digest_of_handled(told.nonce)
        if before is not None:
            if before != digest:
                raise Refused("this nonce was used for another message")
            return
        if citizen.status is not AgentStatus.ACTIVE:
            raise Refused("the sender is not active")
        body = world_value_from_wire(told.body)
        after, messages = answer_demo_world_citizen(
            world.state, told.sender, told.nonce, message.name, body
        )
        world.change(after, messages, (told.nonce, digest))

    def _answer(self, kind: str, digest: str, **content: str) -> None:
        self._socket.send(json.dumps({"type": kind, "frame": digest, **content}))


def _parse_reply(frame: str | bytes | None, *kinds: str) -> dict[str, Any]:
    """Parse a text frame of one of these kinds; raise Unavailable for anything else."""
    try:
        told = json.loads(frame or "")
        if told["type"] in kinds:
            return dict(told)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise Unavailable("the installation does not speak the protocol") from error
    raise Unavailable("the installation does not speak the protocol")


_CODES = {
    message.name: message.code
    for message in (*inbound_world_messages(), *outbound_world_messages())
}
