"""What AWS is like during a run: how often transactions conflict, how far replicas lag behind.

It has dice of its own, so that the same run has the same weather again.
"""

import random
from dataclasses import dataclass, field
from enum import StrEnum

CONFLICTS = 0.7


class Memory(StrEnum):
    """What a worker still knows of what others saw."""

    FRESH = "fresh"
    """Nothing: each life of a worker is a new process."""
    WARM = "warm"
    """What it saw in its earlier lives, as long as it was not killed."""
    STALE = "stale"
    """What anybody saw first, however long ago that was."""


@dataclass
class Weather:
    """`conflicts` is the share of writes that meet another transaction; `lag` the most changes
    that an index or a cheap read may not know yet.
    """

    conflicts: float = 0.0
    lag: int = 0
    memory: Memory = Memory.FRESH
    seed: str = ""
    met: int = 0
    stale: int = 0
    dice: random.Random = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.dice = random.Random(f"weather {self.seed}")

    def conflict(self) -> bool:
        """Whether this write meets another transaction."""
        met = self.conflicts > 0 and self.dice.random() < self.conflicts
        self.met += met
        return met

    def behind(self) -> int:
        """How many changes this read does not know yet."""
        return self.dice.randint(0, self.lag) if self.lag else 0


def by_chance(seed: str) -> Weather:
    """The weather of a random schedule."""
    dice = random.Random(f"climate {seed}")
    return Weather(
        conflicts=dice.choice((0.0, 0.0, 0.2, CONFLICTS)),
        lag=dice.choice((0, 0, 4, 30)),
        memory=dice.choice(tuple(Memory)),
        seed=seed,
    )
