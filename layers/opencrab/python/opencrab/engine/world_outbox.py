"""World outbox: messages of bound agents to their worlds, charged once and then sent."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from opencrab.domain.document import Document, new_fact
from opencrab.domain.errors import Changed, Refused, Unavailable
from opencrab.domain.world.binding import WORLD, WorldBinding, WorldEnvelope, world_private_key_name
from opencrab.domain.world.catalogue import outbound_world_message_by_name
from opencrab.domain.world.standing import STANDING, WorldStanding
from opencrab.ports.documents import Documents
from opencrab.ports.world import WorldLink

_TRIES = 5


def stored_world_standing(facts: Documents, agent_id: str) -> Document | None:
    """Return the document of an agent's standing in its world, None before the first message."""
    return facts.get(agent_id, STANDING, WORLD)


def world_standing(facts: Documents, agent_id: str) -> WorldStanding:
    """Return an agent's standing in its world; an empty one before the first message."""
    stored = stored_world_standing(facts, agent_id)
    return WorldStanding() if stored is None else stored.read(WorldStanding)


def world_standing_document(
    agent_id: str, standing: WorldStanding, stored: Document | None
) -> Document:
    """Return the write that stores a standing."""
    if stored is None:
        return new_fact(agent_id, STANDING, WORLD, standing)
    return stored.with_body(standing)


def stored_world(facts: Documents, agent_id: str) -> Document | None:
    """Return the document of an agent's binding to a world, None if it has none."""
    return facts.get(agent_id, WORLD, WORLD)


class WorldOutbox:
    """The implementation of `ports.world.WorldPost`."""

    def __init__(self, link: WorldLink, facts: Documents) -> None:
        self._link = link
        self._facts = facts

    def place(self, agent_id: str) -> WorldBinding:
        return self._place(agent_id).read(WorldBinding)

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
        message = outbound_world_message_by_name(name)
        body = message.to_wire(payload)
        world = self.place(agent_id)
        envelope = WorldEnvelope(
            world_id=world.world_id,
            code=message.code,
            sender=world.key_id,
            recipient=message.other,
            nonce=nonce,
            at=at,
            body=body,
        )
        raw = self._link.envelopes.seal(envelope, self._private_key(world))
        paid = self._paid(agent_id, nonce, message.code, charge)
        self._link.transport.send(raw, envelope)
        return paid

    def _paid(self, agent_id: str, nonce: str, code: int, charge: int) -> WorldBinding:
        """Charge a message once, even after a crash, and return the binding."""
        for _ in range(_TRIES):
            stored = self._place(agent_id)
            world = stored.read(WorldBinding)
            if world.has_sent(nonce):
                return world
            paid = world.with_sent_message(nonce, code, charge=charge)
            try:
                self._facts.commit(stored.with_body(paid))
            except Changed:
                continue
            return paid
        raise Unavailable(
            f"concurrent updates to the world binding of agent {agent_id!r}; retries exhausted",
            cure="try again",
        )

    def _place(self, agent_id: str) -> Document:
        stored = stored_world(self._facts, agent_id)
        if stored is None:
            raise Refused(f"agent {agent_id!r} is bound to no world", cure="continue without it")
        return stored

    def _private_key(self, world: WorldBinding) -> str:
        """Return the binding's private key, bypassing the cache if it is missing there."""
        name, secrets = world_private_key_name(world.key_id), self._link.secrets
        found = secrets.get(name)
        if found is None:
            secrets.forget()
            found = secrets.get(name)
        if found is None:
            raise Unavailable(
                f"the private key of agent {world.agent_id!r} is missing from the secret store",
                cure=f"put it back as {name}",
            )
        return found
