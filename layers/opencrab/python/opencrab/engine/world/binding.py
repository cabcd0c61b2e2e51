"""Worlds: binds agents to outside worlds, and receives the worlds' messages."""

import logging
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from opencrab.domain.agents.agent import Profile
from opencrab.domain.autonomy.settings import Autonomy
from opencrab.domain.autonomy.vital_signs import VitalSigns
from opencrab.domain.document import INSTALLATION_FACTS, Document, new_fact
from opencrab.domain.errors import Changed, Conflict, NotFound, Refused, Unavailable
from opencrab.domain.value import Identifier, Unit, Value
from opencrab.domain.world.binding import (
    FUTURE,
    GIVEN,
    KEYS,
    PAST,
    REMEMBERED,
    SEED_SOURCES,
    SEEDS,
    SEEN,
    WORLD,
    WORLD_KEY,
    Genome,
    GivenKnowledge,
    Hash,
    SeedSource,
    SeenMessage,
    WorldBinding,
    WorldEnvelope,
    WorldKey,
    WorldRole,
    world_private_key_name,
)
from opencrab.domain.world.catalogue import world_value_from_wire
from opencrab.domain.world.inbound import InboundEffect, effect_of_world_message
from opencrab.domain.world.standing import WorldStanding
from opencrab.engine.agents.vital_signs import (
    LONG_AGO,
    change_agent_vital_signs,
    create_agent_vital_signs,
    store_event_for_agent,
    wake_dormant_agent_with_work,
)
from opencrab.engine.runtime import Runtime
from opencrab.engine.world.units import announce_world_units
from opencrab.engine.world_outbox import (
    stored_world,
    stored_world_standing,
    world_standing_document,
)
from opencrab.ports.clock import Clock
from opencrab.ports.documents import Documents
from opencrab.ports.home import Home
from opencrab.ports.world import OpenEnvelope, WorldLink

log = logging.getLogger(__name__)

_TRIES = 5


class Reception(StrEnum):
    """The result of a valid message: taken, or received again."""

    TAKEN = "taken"
    AGAIN = "again"


class NewBinding(Value, defer_build=False):
    """The world that an agent is to be bound to."""

    world_id: Identifier
    keys: Annotated[tuple[Hash, ...], Field(min_length=1, max_length=KEYS)] = Field(
        description="Ed25519 public keys that verify the world's signatures, in hexadecimal digits"
    )
    role: WorldRole
    knowledge_seeds: Annotated[tuple[Hash, ...], Field(max_length=SEEDS)] = ()
    seed_sources: Annotated[tuple[SeedSource, ...], Field(max_length=SEED_SOURCES)] = Field(
        default=(),
        description="file:PATH, memory:AGENT/ID or an address, each read at once into memory",
    )
    parent: Hash | None = None
    balance: Annotated[int, Field(ge=-(2**63), lt=2**63)] | None = None
    reputation: Unit | None = None


def bind_to_world(runtime: Runtime, agent_id: str, new: NewBinding) -> WorldBinding:
    """Bind an agent to a world permanently, with a new key and its current drives.

    The same binding again returns the stored one. Raises NotFound, Invalid for an invalid key,
    Conflict for an agent that has retired or is bound otherwise, and Refused if worlds are not
    configured.
    """
    link = require_world_link(runtime.world)
    for key in new.keys:
        link.envelopes.key_id(key)
    profile = runtime.home.agents.get(agent_id)
    if not profile.agent.answers:
        raise Conflict(f"agent {agent_id!r} has retired", cure="choose another agent")
    stored = stored_world(runtime.home.facts, agent_id)
    if stored is None:
        try:
            world = _create_world_binding(runtime.home.facts, runtime.clock, link, profile, new)
        except Changed:
            return bind_to_world(runtime, agent_id, new)
    else:
        world = stored.read(WorldBinding)
        _require_same(world, world_seed_sources_of_agent(runtime.home.facts, agent_id), new)
    _set_agent_world(runtime, profile, world)
    return world


def require_world_link(world: WorldLink | None) -> WorldLink:
    """Return the link to worlds; raise Refused if worlds are not configured."""
    if world is None:
        raise Refused(
            "worlds are not configured in this installation",
            cure="see docs/how-to/connect-an-agent-to-a-world.md",
        )
    return world


def world_of_agent(home: Home, agent_id: str) -> WorldBinding:
    """Return an agent's binding to its world; raise NotFound if it has none."""
    home.agents.get(agent_id)
    stored = stored_world(home.facts, agent_id)
    if stored is None:
        raise NotFound(f"agent {agent_id!r} is bound to no world", cure="bind it to one first")
    return stored.read(WorldBinding)


def world_seed_sources_of_agent(facts: Documents, agent_id: str) -> tuple[str, ...]:
    """Return what a bound agent is given to know, () for none."""
    stored = facts.get(agent_id, GIVEN, WORLD)
    return () if stored is None else stored.read(GivenKnowledge).sources


def world_balance(facts: Documents, agent_id: str) -> int | None:
    """Return an agent's balance in its world; None without a world, and while it is unknown."""
    stored = stored_world(facts, agent_id)
    return None if stored is None else stored.read(WorldBinding).balance


def receive_world_message(
    runtime: Runtime,
    raw: bytes,
    *,
    arrived_at: datetime | None = None,
    from_world: str | None = None,
) -> Reception:
    """Receive a message from a world to one of its agents, once per nonce.

    Its timestamp is compared with its arrival, so that a queue may delay it. `from_world` is the
    world that sends it over a connection of its own: it speaks for no other. Raises Invalid and
    TooLarge for a malformed message, Refused for one that is forged, stale or reuses a nonce for
    another content, NotFound for an unknown recipient, and Unavailable, also if worlds are not
    configured, so that the message is retried later.
    """
    link = runtime.world
    if link is None:
        raise Unavailable(
            "worlds are not configured in this installation",
            cure="see docs/how-to/connect-an-agent-to-a-world.md",
        )
    opened = link.envelopes.open(raw)
    envelope = opened.envelope
    if from_world not in {None, envelope.world_id}:
        raise Refused("this connection is another world's", field="world")
    for _ in range(_TRIES):
        stored = _find_recipient_world(runtime.home.facts, envelope)
        world = stored.read(WorldBinding)
        _require_proven(link, world, opened)
        seen = runtime.home.facts.get(world.agent_id, SEEN, envelope.nonce)
        if seen is not None:
            reception = _again(seen, opened)
            wake_dormant_agent_with_work(runtime, world.agent_id)
            announce_world_units(runtime, world.agent_id)
            return reception
        _require_timely(envelope, arrived_at or runtime.clock.now())
        try:
            _take(runtime, stored, opened)
        except Changed:
            continue
        announce_world_units(runtime, world.agent_id)
        return Reception.TAKEN
    raise Unavailable(
        f"concurrent updates to the world binding of key {envelope.recipient!r}; retries exhausted",
        cure="try again",
    )


def _create_world_binding(
    facts: Documents, clock: Clock, link: WorldLink, profile: Profile, new: NewBinding
) -> WorldBinding:
    agent, pair = profile.agent, link.envelopes.new_key()
    # The key first: a place whose key was lost could never speak.
    link.secrets.put(world_private_key_name(pair.key_id), pair.private_key)
    world = WorldBinding(
        world_id=new.world_id,
        agent_id=agent.id,
        public_key=pair.public_key,
        key_id=pair.key_id,
        keys=new.keys,
        genome=Genome(
            role=new.role,
            drives=profile.soul.weights,
            knowledge_seeds=new.knowledge_seeds,
            parent=new.parent,
            spawned_at=clock.now(),
        ),
        balance=new.balance,
        reputation=new.reputation,
    )
    key = new_fact(INSTALLATION_FACTS, WORLD_KEY, pair.key_id, WorldKey(agent_id=agent.id))
    given = GivenKnowledge(sources=new.seed_sources)
    seeds = (new_fact(agent.id, GIVEN, WORLD, given),) if given.sources else ()
    facts.commit(new_fact(agent.id, WORLD, WORLD, world), key, *seeds)
    log.info(
        "agent bound to world: agent=%s, world=%s, key=%s", agent.id, new.world_id, pair.key_id
    )
    return world


def _require_same(world: WorldBinding, sources: tuple[str, ...], new: NewBinding) -> None:
    genome = world.genome
    seeds = (genome.knowledge_seeds, sources)
    there = (world.world_id, world.keys, genome.role, *seeds, genome.parent)
    given = (new.knowledge_seeds, new.seed_sources)
    if there != (new.world_id, new.keys, new.role, *given, new.parent):
        raise Conflict(
            f"agent {world.agent_id!r} is bound to world {world.world_id!r} permanently",
            cure="create another agent",
        )


def _set_agent_world(runtime: Runtime, profile: Profile, world: WorldBinding) -> None:
    """Store the world's id in the agent; raise Conflict after a concurrent change."""
    if profile.agent.world == world.world_id:
        return
    marked = profile.agent.replaced(world=world.world_id, updated_at=runtime.clock.now())
    saved = runtime.home.agents.save(marked)
    create_agent_vital_signs(runtime, profile.replaced(agent=saved))


def _find_recipient_world(facts: Documents, envelope: WorldEnvelope) -> Document:
    """Return the stored binding of the agent that an envelope is for."""
    key = facts.get(INSTALLATION_FACTS, WORLD_KEY, envelope.recipient)
    stored = None if key is None else stored_world(facts, key.read(WorldKey).agent_id)
    if stored is None:
        raise NotFound(
            f"no agent has the recipient key {envelope.recipient!r}",
            field="recipient",
            cure="use the key ID of an agent that is bound to a world",
        )
    return stored


def _require_proven(link: WorldLink, world: WorldBinding, opened: OpenEnvelope) -> None:
    envelope = opened.envelope
    if envelope.world_id != world.world_id:
        raise Refused(
            f"the message is from world {envelope.world_id!r}, but its recipient is bound to "
            f"world {world.world_id!r}",
            field="world",
            cure="send it to an agent of that world",
        )
    key = next((k for k in world.keys if link.envelopes.key_id(k) == envelope.sender), None)
    if key is None:
        raise Refused(
            f"the sender's key does not belong to world {world.world_id!r}",
            field="sender",
            cure="sign with a key of the world, or bind the agent with this key",
        )
    if not link.envelopes.is_signed_by(opened, key):
        raise Refused(
            f"the signature does not match the sender's key {envelope.sender!r}",
            field="signature",
            cure="sign the exact bytes that are sent",
        )


def _require_timely(envelope: WorldEnvelope, arrived_at: datetime) -> None:
    if envelope.at > arrived_at + FUTURE:
        raise Refused(
            f"the message's timestamp {envelope.at.isoformat()} is in the future",
            field="time",
            cure="synchronize the clock",
        )
    if envelope.at < arrived_at - PAST:
        raise Refused(
            f"the message's timestamp {envelope.at.isoformat()} is too old",
            field="time",
            cure="send it again with the current time",
        )


def _again(seen: Document, opened: OpenEnvelope) -> Reception:
    if seen.read(SeenMessage).digest != opened.digest:
        raise Refused(
            f"nonce {seen.id!r} was already used for another message",
            field="nonce",
            cure="use a new one",
        )
    return Reception.AGAIN


def _take(runtime: Runtime, stored: Document, opened: OpenEnvelope) -> None:
    """Write the effect of a message in one transaction; raise Changed."""
    envelope, now = opened.envelope, runtime.clock.now()
    before = stored.read(WorldBinding)
    agent_id = before.agent_id
    meant = effect_of_world_message(before, envelope)
    standing, kept = _standing_after(runtime, before, envelope, now)
    meant = _with_account(meant, standing)
    seen = new_fact(
        agent_id,
        SEEN,
        envelope.nonce,
        SeenMessage(digest=opened.digest, code=envelope.code),
        expires_at=now + REMEMBERED,
    )
    facts = [seen, kept, *(() if meant.world == before else (stored.with_body(meant.world),))]
    # In the order of arrival: what was signed earlier must not hide behind what was read.
    event = meant.agent_event(runtime.clock.new_id(), now, trusted=standing.is_trusted)
    if event is None or not store_event_for_agent(runtime, agent_id, event, *facts):
        change_agent_vital_signs(runtime, agent_id, _as_it_was, *facts)
    if _in_need(runtime.rules.autonomy, meant):
        change_agent_vital_signs(runtime, agent_id, _to_be_reviewed)


def _standing_after(
    runtime: Runtime, world: WorldBinding, envelope: WorldEnvelope, now: datetime
) -> tuple[WorldStanding, Document]:
    """Return an agent's standing after a message, and its document; a new doubt is logged."""
    agent_id, payload = world.agent_id, world_value_from_wire(envelope.body)
    stored = stored_world_standing(runtime.home.facts, agent_id)
    before = WorldStanding() if stored is None else stored.read(WorldStanding)
    standing = before.after_message(payload, now, key_id=world.key_id)
    if standing.doubt != before.doubt:
        log.warning(
            "world contradicts itself, not trusted any more: agent=%s, world=%s, doubt=%s",
            agent_id,
            envelope.world_id,
            standing.doubt,
        )
    return standing, world_standing_document(agent_id, standing, stored)


def _with_account(meant: InboundEffect, standing: WorldStanding) -> InboundEffect:
    """Return the effect with the balance of the newest entry of the agent's account."""
    if standing.account is None or standing.account.balance == meant.world.balance:
        return meant
    return replace(meant, world=meant.world.replaced(balance=standing.account.balance))


def _in_need(autonomy: Autonomy, meant: InboundEffect) -> bool:
    left = meant.world.balance
    return left is not None and left < autonomy.survival_balance


def _as_it_was(signs: VitalSigns) -> VitalSigns:
    return signs


def _to_be_reviewed(signs: VitalSigns) -> VitalSigns:
    """Let the next heartbeat review the goals, which may add a survival goal."""
    return signs.replaced(reviewed_at=LONG_AGO)
