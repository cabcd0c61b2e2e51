"""Demo state: citizens, bounties and the treasury of the demo world, whose currency is constant."""

from typing import Annotated, Any

from pydantic import Field

from opencrab.domain.agents.agent import AgentStatus
from opencrab.domain.identifier import content_hash
from opencrab.domain.value import Unit, Value
from opencrab.domain.world.binding import Hash, Nonce, WorldRole

CURRENCY = 100_000
"""All currency that there is: what agents gain, the treasury or another agent loses."""

WELCOME = 100
"""What a new citizen gets."""

UNITS = 5
"""Budget units of each citizen in a cycle."""

BOUNTY_CYCLES = 6
"""An unpaid bounty ends after so many cycles, and its reward goes back."""

OPEN_BOUNTIES = 50

Whole = Annotated[int, Field(ge=0)]


class DemoCitizen(Value):
    """An agent in the demo world; `entry` counts the entries of its account."""

    key_id: Hash
    public_key: Hash
    role: WorldRole
    status: AgentStatus = AgentStatus.ACTIVE
    balance: Whole = 0
    entry: Whole = 0
    reputation: Unit = 0.5
    parts: Whole = 0


class DemoBounty(Value):
    """A bounty with its reward, which is set aside; without `owner` it is the world's own."""

    id: str
    title: str
    reward: Whole
    cycle: Whole
    owner: Hash | None = None
    claimer: Hash | None = None
    submission: str = ""


class DemoMessage(Value):
    """A message of the demo world to a citizen; with `reply_to` the answer to one of its own."""

    to: Hash
    name: str
    body: dict[str, Any]
    reply_to: Nonce | None = None


class DemoState(Value):
    """The demo world at one moment."""

    world_id: str
    seed: int
    cycle: Whole = 0
    treasury: Whole = CURRENCY
    citizens: dict[str, DemoCitizen] = Field(default_factory=dict)
    bounties: dict[str, DemoBounty] = Field(default_factory=dict)

    @property
    def total(self) -> int:
        """All currency, wherever it is: always the same."""
        held = sum(each.balance for each in self.citizens.values())
        return self.treasury + held + sum(each.reward for each in self.bounties.values())

    @property
    def prices(self) -> dict[str, int]:
        """The prices of this cycle; that of a part on the market is SERVICE_CALL's."""
        return {**_PRICES, "SERVICE_CALL": 3 + self.draw("part", 8)}

    def draw(self, what: str, sides: int) -> int:
        """Return a number below `sides` that depends on the seed, the cycle and its use only."""
        digest = content_hash(f"{self.seed} {self.cycle} {what}".encode())
        return int(digest[:8], 16) % sides

    def with_citizen(self, citizen: DemoCitizen) -> "DemoState":
        """Return the state with a citizen replaced."""
        return self.replaced(citizens={**self.citizens, citizen.key_id: citizen})

    def with_bounty(self, bounty: DemoBounty) -> "DemoState":
        """Return the state with a bounty replaced."""
        return self.replaced(bounties={**self.bounties, bounty.id: bounty})

    def without_bounty(self, bounty_id: str) -> "DemoState":
        """Return the state without a bounty, whose reward the caller has paid out."""
        left = {name: each for name, each in self.bounties.items() if name != bounty_id}
        return self.replaced(bounties=left)

    def with_entry(self, key_id: str, change: int) -> tuple["DemoState", dict[str, int]]:
        """Return the state after an entry in a citizen's account, and the entry as it is told.

        The caller takes the same from elsewhere, or puts it there.
        """
        before = self.citizens[key_id]
        entry, balance = before.entry + 1, before.balance + change
        told = {"entry": entry, "change": change, "balance": balance}
        return self.with_citizen(before.replaced(entry=entry, balance=balance)), told


_PRICES = {
    "AGENT_STATUS": 0,
    "BALANCE_QUERY": 0,
    "BOUNTY_CLAIM": 0,
    "BOUNTY_CREATE": 1,
    "BOUNTY_REVIEW": 0,
    "BOUNTY_SUBMIT": 0,
    "MSG_POST": 1,
    "REGISTRY_QUERY": 0,
    "TRANSFER": 0,
}
