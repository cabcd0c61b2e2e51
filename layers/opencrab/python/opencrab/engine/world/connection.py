"""Connections of worlds: a world proves that it holds a key to which agents are bound.

It signs a challenge of this installation, in the same envelope as every message.
"""

from datetime import datetime

from opencrab.domain.document import INSTALLATION_FACTS
from opencrab.domain.errors import Invalid, NotFound, Refused
from opencrab.domain.value import Identifier, Value
from opencrab.domain.world.binding import FUTURE, WORLD_KEY, Hash, WorldBinding, WorldKey
from opencrab.engine.runtime import Runtime
from opencrab.engine.world.binding import require_world_link
from opencrab.engine.world.units import announce_world_units
from opencrab.engine.world_outbox import stored_world
from opencrab.ports.documents import Documents
from opencrab.ports.paging import all_pages

JOIN = 0x0001
"""The code of the message with which a world opens a connection."""

GATEWAY = "Gateway"
"""The recipient of that message: the installation, not an agent."""


class WorldCitizen(Value):
    """An agent as its world knows it; `role` is that of its genome."""

    key_id: Hash
    public_key: Hash
    role: str


class ConnectedWorld(Value):
    """A world that has proven itself, and the agents that are bound to it."""

    world_id: Identifier
    citizens: tuple[WorldCitizen, ...]


def admit_world(runtime: Runtime, raw: bytes, challenge: str) -> ConnectedWorld:
    """Check a world's signed answer to a challenge, and return who it is.

    Raises Invalid for another message, NotFound if no agent is bound to this world, and Refused for
    another challenge, a foreign key, a wrong signature or clock.
    """
    link = require_world_link(runtime.world)
    opened = link.envelopes.open(raw)
    envelope = opened.envelope
    if (envelope.code, envelope.recipient) != (JOIN, GATEWAY):
        raise Invalid(
            "the first message is not a JOIN to Gateway",
            field="code",
            cure="docs/explanation/worlds.md has the format",
        )
    if envelope.reply_to != challenge:
        raise Refused("the challenge of another connection was signed", field="reply_to")
    _require_same_time(envelope.at, runtime.clock.now())
    bound = _bindings_of_world(runtime.home.facts, envelope.world_id)
    if not bound:
        raise NotFound(
            f"no agent is bound to world {envelope.world_id!r}",
            field="world",
            cure="bind an agent first: opencrab world bind",
        )
    trusting = [
        each
        for each in bound
        if any(
            link.envelopes.key_id(key) == envelope.sender
            and link.envelopes.is_signed_by(opened, key)
            for key in each.keys
        )
    ]
    if not trusting:
        raise Refused(
            f"no agent of world {envelope.world_id!r} is bound with the key that signed this",
            field="sender",
            cure="sign with a key of the world, or bind an agent with this key",
        )
    for each in trusting:
        # A crash may have ended a cycle between two turns.
        announce_world_units(runtime, each.agent_id)
    return ConnectedWorld(
        world_id=envelope.world_id,
        citizens=tuple(
            WorldCitizen(key_id=b.key_id, public_key=b.public_key, role=b.genome.role.value)
            for b in trusting
        ),
    )


def _bindings_of_world(facts: Documents, world_id: str) -> tuple[WorldBinding, ...]:
    """Return the bindings of all agents to one world."""
    found = list[WorldBinding]()
    for key in all_pages(facts, INSTALLATION_FACTS, WORLD_KEY):
        stored = stored_world(facts, key.read(WorldKey).agent_id)
        world = None if stored is None else stored.read(WorldBinding)
        if world is not None and world.world_id == world_id:
            found.append(world)
    return tuple(found)


def _require_same_time(at: datetime, now: datetime) -> None:
    if abs(at - now) > FUTURE:
        raise Refused(
            f"the JOIN's timestamp {at.isoformat()} is more than five minutes off",
            field="time",
            cure="synchronize the clock",
        )
