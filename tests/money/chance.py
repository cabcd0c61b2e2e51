"""Chance: what goes wrong in a run, when, and how much may be spent; all of it from one seed."""

import random

from opencrab.domain.money.budget import LIMITS, Limits
from tests.crash.scheduling import Fault, Place

_COMMITS = frozenset({"commit"})
_WRITES = _COMMITS | {"admit", "claim", "extend", "stop"}
_LOST = 1 / 3
"""So many of the conflicts take effect, and only their answer is lost."""


def dice_of(name: str) -> random.Random:
    """The dice of this name, which fall the same way every time."""
    return random.Random(name)  # noqa: S311 - a schedule, not a secret


class Trouble:
    """`scheduling.Plan`: kills, sleepers, echoes, outages and conflicts at any I/O point.

    `conflicts` is the share of the journal's commits, or of all its writes, that fail: most of them
    without effect, and of some only the answer is lost.
    """

    straight = False

    def __init__(self, seed: str, conflicts: float | None) -> None:
        self.dice = dice = dice_of(f"trouble {seed}")
        self._draw = dice.random
        self.conflicts = dice.choice((0.0, 0.0, 0.05, 0.3)) if conflicts is None else conflicts
        self.met = 0
        self._kill = dice.choice((0.0, 0.002, 0.01, 0.03))
        self._sleep = self._kill + dice.choice((0.0, 0.002, 0.01))
        self._echo = self._sleep + dice.choice((0.0, 0.01))
        self._outage = self._echo + dice.choice((0.0, 0.0, 0.005))
        self._restless = dice.choice((0.1, 0.4, 0.8))
        self._turmoil = dice.choice((0.0, 0.003, 0.01))
        self._ruled = dice.choice((0.0, 0.005, 0.02))
        self._hurried = dice.random() < 0.3
        self._conflicting = dice.choice((_COMMITS, _WRITES))
        self._before = self.conflicts * (1 - _LOST)
        self._after = (self.conflicts - self._before) / (1 - self._before)

    def fault(self, place: Place) -> Fault | None:
        chance = self._draw()
        if chance < self._outage:
            if chance < self._kill:
                return Fault.KILL
            if chance < self._sleep:
                return Fault.SLEEP
            return Fault.ECHO if chance < self._echo else Fault.OUTAGE
        if self.conflicts and place.port == "journal" and place.method in self._conflicting:
            share = self._before if place.phase == "before" else self._after
            if self._draw() < share:
                self.met += 1
                return Fault.OUTAGE
        return None

    def gives_way(self) -> bool:
        return self._draw() < self._restless

    def pick(self, ready: int) -> int:
        return int(self._draw() * ready)

    def wakes(self) -> bool:
        return self._draw() < 0.02

    def patience(self) -> int:
        return int(self._draw() * 4) if self._hurried and self._draw() < 0.5 else 1_000

    def disturbance(self) -> str | None:
        chance = self._draw()
        if chance < self._turmoil:
            return self.dice.choice(("jump", "midnight", "copy", "sweep", "sweep", "stop"))
        if chance < self._turmoil + self._ruled:
            return self.dice.choice(("limits", "limits", "freeze", "thaw", "thaw"))
        return None


def limits_by(dice: random.Random) -> Limits:
    """Limits that are met often, and nothing at all at times; a call costs up to 15,000."""
    nothing = dice.random() < 0.05
    return Limits(
        turn_micro_usd=0 if nothing else dice.choice((15_000, 60_000, 200_000, 200_000)),
        session_micro_usd=dice.choice((None, None, 30_000, 150_000)),
        agent_day_micro_usd=0 if nothing else dice.choice((30_000, 150_000, 600_000)),
        installation_day_micro_usd=dice.choice((60_000, 300_000, 1_500_000, 1_500_000)),
        heartbeat_percent=dice.choice((0, 25, 60, 100)),
        public_user_day_micro_usd=dice.choice((10_000, 40_000, 150_000)),
        block_micro_usd=dice.choice((1, 4_000, 20_000, 80_000)),
    )


def changes_by(dice: random.Random) -> dict[str, int | None]:
    """All limits, some of them, or the configured ones again."""
    if dice.random() >= 0.8:
        return dict.fromkeys(LIMITS)
    limits = dict(limits_by(dice))
    names = dice.choice((LIMITS, dice.sample(LIMITS, 3)))
    return {name: limits[name] or 0 for name in names}
