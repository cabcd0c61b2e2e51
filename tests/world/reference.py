"""A small world: it signs what it says, checks what it is told, and keeps balances and bounties."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from opencrab.adapters.local_files.secrets import FileSecrets
from opencrab.adapters.system_clock import FakeClock
from opencrab.adapters.world_envelope import Ed25519Envelopes
from opencrab.domain.errors import Unavailable
from opencrab.domain.world.binding import WorldBinding, WorldEnvelope, WorldRole
from opencrab.domain.world.catalogue import (
    inbound_world_messages,
    outbound_world_message_by_code,
    outbound_world_messages,
)
from opencrab.engine.runtime import Runtime
from opencrab.engine.world.binding import (
    NewBinding,
    Reception,
    bind_to_world,
    receive_world_message,
)
from opencrab.ports.world import KeyPair, WorldLink

CODES = {
    message.name: message.code
    for message in (*outbound_world_messages(), *inbound_world_messages())
}
_NONCES = count(1)


@dataclass
class ReferenceWorld:
    """`ports.world.EnvelopeTransport` of the agents that it knows, and the other side of it.

    `heard` is what was proven, by name; `answers` wait to be delivered.
    """

    clock: FakeClock
    world_id: str = "kingdom"
    envelopes: Ed25519Envelopes = field(default_factory=Ed25519Envelopes)
    citizens: dict[str, WorldBinding] = field(default_factory=dict)
    balances: dict[str, int] = field(default_factory=dict)
    heard: list[tuple[str, dict[Any, Any]]] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    answers: list[bytes] = field(default_factory=list)
    silent: int = 0

    def __post_init__(self) -> None:
        self.key: KeyPair = self.envelopes.new_key()

    def link(self, folder: Path) -> WorldLink:
        """The way of an installation to this world."""
        return WorldLink(self.envelopes, self, FileSecrets(folder))

    def binding(self, role: WorldRole = WorldRole.EXPLORER, **changes: Any) -> NewBinding:
        """What an owner says of this world."""
        return NewBinding(
            **{"world_id": self.world_id, "keys": (self.key.public_key,), "role": role, **changes}
        )

    def admit(self, world: WorldBinding) -> WorldBinding:
        """Know an agent by its public key."""
        assert self.envelopes.key_id(world.public_key) == world.key_id
        self.citizens[world.key_id] = world
        self.balances[world.key_id] = world.balance or 0
        return world

    def send(self, raw: bytes, envelope: WorldEnvelope) -> None:
        """Take what an agent sends, once, if its signature is good."""
        if self.silent:
            self.silent -= 1
            raise Unavailable("the world is silent")
        opened = self.envelopes.open(raw)
        told = opened.envelope
        assert told == envelope
        sender = self.citizens[told.sender]
        assert self.envelopes.is_signed_by(opened, sender.public_key)
        if told.nonce in self.seen:
            return
        self.seen.add(told.nonce)
        message = outbound_world_message_by_code(told.code)
        assert message is not None
        assert told.recipient == message.other
        self.heard.append((message.name, told.body))
        self._answer(told, message.name)

    def _answer(self, told: WorldEnvelope, name: str) -> None:
        if name == "TRANSFER":
            amount = int(told.body["amount"])
            self.balances[told.sender] -= amount
            self.balances[told.body["to"]] = self.balances.get(told.body["to"], 0) + amount
        if name in {"TRANSFER", "BALANCE_QUERY"}:
            body = {"balance": self.balances[told.sender], "reputation": 0.5}
            self.answers.append(self.say(told.sender, name, body, reply_to=told.nonce))

    def say(self, to: str, name: str, body: dict[Any, Any], **changes: Any) -> bytes:
        """A message to an agent, signed; `key` and fields of the envelope may be another's."""
        key: KeyPair = changes.pop("key", self.key)
        after = changes.pop("after", timedelta())
        envelope = WorldEnvelope(
            **{
                "world_id": self.world_id,
                "code": CODES[name],
                "sender": self.key.key_id,
                "recipient": to,
                "nonce": f"{next(_NONCES):032x}",
                "at": self._now() + after,
                "body": body,
                **changes,
            }
        )
        return self.envelopes.seal(envelope, key.private_key)

    def allocation(self, world: WorldBinding, budget: int, cycle: int = 1) -> bytes:
        """TICK_ALLOC."""
        body = {"agent_id": bytes.fromhex(world.key_id), "budget": budget, "cycle": cycle}
        return self.say(world.key_id, "TICK_ALLOC", body)

    def deliver(self, runtime: Runtime) -> list[Reception]:
        """Deliver all answers that wait."""
        waiting, self.answers = self.answers, []
        return [receive_world_message(runtime, raw) for raw in waiting]

    def _now(self) -> datetime:
        now = self.clock.now()
        return now.replace(microsecond=now.microsecond // 1_000 * 1_000)


def settle(runtime: Runtime, agent_id: str, units: int = 5) -> WorldBinding:
    """Bind an agent to the reference world that the installation leads to, with some units."""
    assert runtime.world is not None
    kingdom = runtime.world.transport
    assert isinstance(kingdom, ReferenceWorld)
    world = kingdom.admit(bind_to_world(runtime, agent_id, kingdom.binding()))
    receive_world_message(runtime, kingdom.allocation(world, units))
    return world


def damaged(raw: bytes) -> Iterator[bytes]:
    """The same bytes with one bit changed, at some places."""
    for place in range(0, len(raw), 7):
        yield raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :]
