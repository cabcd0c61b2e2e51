"""Troubles: what may go wrong while something is asked and answered, at every point of it.

`make soak` plays every trouble at every point; `make test` a share.
"""

import random
from collections.abc import Callable

from opencrab.domain.errors import Unavailable
from tests.crash.scheduling import Killed
from tests.discord.faults import Delay, Drop, Fault, Limited, Status
from tests.e2e.troubled_house import Trouble, TroubledHouse
from tests.soak import SOAK

HTTP: dict[str, Fault] = {
    "drop": Drop("before"),
    "lost": Drop("after"),
    "down": Status(503, "before"),
    "odd": Status(500, "after"),
    "limited": Limited(2.0),
    "blocked": Limited(30.0, via=False),
    "slow": Delay(20, "after"),
    "late": Delay(200, "before"),
    "over": Delay(1_000, "before"),
}
"""What befalls one request to Discord."""

AT_A_POINT = ("kill", "killed", "outage", "lost-answer", "wait", "overlap")
"""What happens before or after one call of a port."""


def listed_plays(name: str, points: int, requests: int, share: int) -> list[tuple[str, int]]:
    """All plays of a scene, or a share of them."""
    listed = [(kind, at) for kind in AT_A_POINT for at in range(1, points + 1)]
    listed += [(kind, at) for kind in HTTP for at in range(1, requests + 1)]
    if SOAK:
        return listed
    return random.Random(name).sample(listed, min(share, len(listed)))  # noqa: S311


def trouble_at_point(house: TroubledHouse, kind: str, at: int) -> Trouble:
    """What happens at a point, by its kind."""
    happens: dict[str, tuple[Callable[[str], None], bool]] = {
        "kill": (_kill, False),
        "killed": (_kill, True),
        "outage": (_outage, False),
        "lost-answer": (_outage, True),
        "wait": (lambda point: house.clock.advance(20), False),
        "overlap": (lambda point: house.overlap(), True),
    }
    what, after = happens[kind]
    return Trouble(at={at: what}, after=after)


def _kill(point: str) -> None:
    raise Killed(point)


def _outage(point: str) -> None:
    raise Unavailable(f"nothing comes back from {point}")
