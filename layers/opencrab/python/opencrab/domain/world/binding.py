"""World: an outside world that an agent is bound to, by whose protocol it speaks (Kingdom)."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from opencrab.domain.agents.agent import Agent, AgentStatus
from opencrab.domain.agents.soul import Drives, Soul
from opencrab.domain.errors import Conflict, Exhausted
from opencrab.domain.value import Identifier, Unit, Value

WORLD = "world"
"""Kind and id of the document that binds an agent to a world."""

WORLD_KEY = "world_key"
"""The kind of installation documents that name the agent of a key, by the key's id."""

GIVEN = "world_seed_sources"
"""The kind of the document that stores an agent's seed sources; its id is `WORLD`."""

SEEN = "world_seen"
"""The kind of documents that prevent a message from being handled twice, by its nonce."""

ENVELOPE_VERSION = 1
ENVELOPE_BYTES = 65_536
"""The size limit of an envelope in bytes, signature included."""

FUTURE, PAST = timedelta(minutes=5), timedelta(days=1)
"""The largest difference between the time in an envelope and its arrival: ahead, and behind."""

REMEMBERED = timedelta(days=16)
"""The time for which nonces are kept: longer than a message's age and its time in a queue (14
days)."""

SENT = 50
"""The limit of sent messages that wait for an answer."""

KEYS, SEEDS = 10, 64
SEED_SOURCES = 16

SeedSource = Annotated[
    str,
    StringConstraints(
        pattern=r"^(file:[^\x00-\x1f]{1,500}|memory:[A-Za-z0-9_\-]{1,64}/[A-Za-z0-9_\-]{1,64}"
        r"|https?://[^\s\x00-\x1f]{1,2000})$"
    ),
]
"""Where an agent's first knowledge comes from: a file of its workspace, a memory, an address."""

Hash = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
"""SHA-256 or a public key: 32 bytes in hexadecimal digits."""

Nonce = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]


class WorldRole(StrEnum):
    """The role of an agent in a world (Kingdom 3.2)."""

    GENERALIST = "GENERALIST"
    COMPILER_SMITH = "COMPILER_SMITH"
    LIBRARIAN = "LIBRARIAN"
    ARCHITECT = "ARCHITECT"
    EXPLORER = "EXPLORER"


class Genome(Value):
    """An agent's properties at its creation; they never change (Kingdom 3.2).

    `knowledge_seeds` are entries of the world that it reads first; `parent` is the key id of the
    agent that spawned it.
    """

    role: WorldRole
    drives: Drives
    knowledge_seeds: Annotated[tuple[Hash, ...], Field(max_length=SEEDS)] = ()
    parent: Hash | None = None
    spawned_at: datetime


class GivenKnowledge(Value):
    """What an agent is given to know here when it is bound; it never changes.

    A document of its own, as the release before reads a genome without it.
    """

    sources: Annotated[tuple[SeedSource, ...], Field(max_length=SEED_SOURCES)] = ()


class SentWorldMessage(Value):
    """A message that was sent and paid for; an answer names its nonce."""

    nonce: Nonce
    code: int


class WorldBinding(Value):
    """The binding of an agent to a world.

    `key_id` is the SHA-256 of its public key and its name there, `keys` are the public keys of the
    world. `units` are left of the budget of `cycle`; None before an allocation. `state` is what the
    world last reported about itself. `balance` is in the world's own currency.
    """

    world_id: Identifier
    agent_id: Identifier
    public_key: Hash
    key_id: Hash
    keys: Annotated[tuple[Hash, ...], Field(min_length=1, max_length=KEYS)]
    genome: Genome
    status: AgentStatus | None = None
    balance: int | None = None
    reputation: Unit | None = None
    units: Annotated[int, Field(ge=0)] | None = None
    cycle: Annotated[int, Field(ge=0)] = 0
    state: dict[str, Any] = Field(default_factory=dict)
    sent: Annotated[tuple[SentWorldMessage, ...], Field(max_length=SENT)] = ()

    def has_sent(self, nonce: str) -> bool:
        """Check whether a message with this nonce was sent."""
        return any(each.nonce == nonce for each in self.sent)

    def with_sent_message(self, nonce: str, code: int, *, charge: int = 1) -> "WorldBinding":
        """Return the binding with a message paid for; raises Exhausted without units."""
        units = self.units
        if charge:
            if not units or units < charge:
                raise Exhausted(
                    f"no budget units are left in cycle {self.cycle} of world {self.world_id!r}",
                    field="units",
                    cure="wait for the next cycle's allocation",
                )
            units -= charge
        sent = (*self.sent, SentWorldMessage(nonce=nonce, code=code))[-SENT:]
        return self.replaced(units=units, sent=sent)


class WorldKey(Value):
    """The agent that a key belongs to."""

    agent_id: Identifier


class SeenMessage(Value):
    """A message that was received before, identified by the SHA-256 of its bytes."""

    digest: Hash
    code: int


class WorldEnvelope(Value):
    """A message in transit: from a key to a key, or to one of a world's daemons by name.

    `reply_to` is the nonce of the message that it answers. `body` is the payload as on the wire.
    """

    version: int = ENVELOPE_VERSION
    world_id: Identifier
    code: Annotated[int, Field(ge=0, lt=2**16)]
    sender: Hash
    recipient: Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{64}|[A-Z][a-z]{1,30})$")]
    nonce: Nonce
    reply_to: Nonce | None = None
    at: datetime
    body: dict[Any, Any] = Field(default_factory=dict)


def world_private_key_name(key_id: str) -> str:
    """Return the name of the secret that holds a key id's private key."""
    return f"WORLD_KEY_{key_id.upper()}"


def require_soul_fits_world_binding(agent: Agent, before: Soul, after: Soul | None) -> None:
    """Raise Conflict if a new soul changes the drives of an agent that is bound to a world.

    Its genome fixes them. Without drives of its own an agent has those computed from its
    personality.
    """
    if agent.world is None or after is None or after.weights == before.weights:
        return
    raise Conflict(
        f"agent {agent.id!r} is bound to world {agent.world!r}, whose genome fixes its drives",
        field="soul.drives",
        cure="keep the drives; set their present values when you change the personality",
    )


def parse_world_status(told: str) -> AgentStatus | None:
    """Parse a world's word for a status, in any case; None if it is unknown."""
    return next((status for status, word in _IN_WORLD.items() if word == told.upper()), None)


_IN_WORLD = {
    AgentStatus.ACTIVE: "ACTIVE",
    AgentStatus.DORMANT: "DORMANT",
    AgentStatus.RETIRED: "DEAD",
}
