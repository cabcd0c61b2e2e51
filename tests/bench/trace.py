"""The way of a message through our modules: which it passes, how often, and which it comes back to.

`python -m tests.bench.trace` follows three trips over the houses of `tests/e2e`, on the local home:
a command on Discord until its reply is shown, a heartbeat with a reason until its turn is over, and
a nightly look at one agent. Of the trip on Discord `--sequence` prints every visit, `--calls A B`
which functions of module B are called where the way goes from A to B, and `--counts` the figures
that have ceilings (`tests/budgets`).

- Traced are calls of functions of ours in this thread, resumed generators among them, in their
  order; returns are not, nor lambdas and comprehensions.
- Left out is what the import of a module does: many load only with the first call that needs them.
- A visit is a run of such calls into one module. Domain and ports are left out before the runs are
  formed: they are vocabulary that everybody speaks. `all` is the same with them.
- A visit is a return when the visit before the last was to the same module (A, B, A).
- The number of calls itself may differ by a few between runs, as answers over HTTP come in one part
  or more; visits and returns do not.
- Modules are all that were entered, domain and ports included; those without stand beside them.
"""

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

from opencrab.engine.learning.nightly.run import review_agent_now
from tests.budgets.counting import OURS, uncollected
from tests.contract.homes import HOMES
from tests.crash.outside import Reply
from tests.e2e import beating, nights
from tests.e2e.discord_house import DiscordHouse, ask, kani
from tests.e2e.house import House

VOCABULARY = ("opencrab.domain.", "opencrab.ports.")
PAIRS = 25

Visit = tuple[str, tuple[str, ...]]
"""A module, and the functions of it that were called in a run."""


@dataclass
class Trip:
    """Calls of functions of ours in their order: module and qualified name."""

    calls: list[tuple[str, str]] = field(default_factory=list)

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """A profile function: Python calls it at every call and return."""
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(OURS):
            return
        if not code.co_name.startswith("<") and not _is_importing(frame):
            self.calls.append((frame.f_globals["__name__"], code.co_qualname))

    @property
    def modules(self) -> set[str]:
        """All that were entered."""
        return {module for module, _ in self.calls}

    def visits(self, *, vocabulary: bool = False) -> list[Visit]:
        """Runs of calls into the same module."""
        runs: list[tuple[str, list[str]]] = []
        for module, function in self.calls:
            if module.startswith(VOCABULARY) and not vocabulary:
                continue
            if not runs or runs[-1][0] != module:
                runs.append((module, []))
            runs[-1][1].append(function)
        return [(module, tuple(functions)) for module, functions in runs]

    def counts(self) -> dict[str, int]:
        """What is budgeted."""
        visits = self.visits()
        return {"modules": len(self.modules), "visits": len(visits), "returns": returns(visits)}

    def __str__(self) -> str:
        visits, everything = self.visits(), self.visits(vocabulary=True)
        without = len({module for module, _ in visits})
        return (
            f"{len(self.calls)} calls of {len(set(self.calls))} functions\n"
            f"modules {len(self.modules)} (without domain and ports {without})\n"
            f"visits  {len(visits)} (all {len(everything)})\n"
            f"returns {returns(visits)} (all {returns(everything)})\n"
        )


def _is_importing(frame: FrameType) -> bool:
    """Check whether a module of ours is being loaded, by whose code this frame was called."""
    outer = frame.f_back
    while outer is not None:
        code = outer.f_code
        if code.co_name == "<module>" and code.co_filename.startswith(OURS):
            return True
        outer = outer.f_back
    return False


def returns(visits: list[Visit]) -> int:
    """Visits to where the way was just before the last one."""
    names = [module for module, _ in visits]
    return sum(here == before for here, before in zip(names[2:], names, strict=False))


def switches(visits: list[Visit]) -> Counter[tuple[str, str]]:
    """How often the way goes between two modules, in either direction."""
    names = [module for module, _ in visits]
    return Counter((min(pair), max(pair)) for pair in pairwise(names))


@contextmanager
def followed() -> Iterator[Trip]:
    """Follow what this thread does."""
    trip = Trip()
    with uncollected():
        sys.setprofile(trip)
        try:
            yield trip
        finally:
            sys.setprofile(None)


def command() -> Trip:
    """A question on Discord, the first in its process, until its answer is shown."""
    with tempfile.TemporaryDirectory() as folder:
        house = DiscordHouse(HOMES[0], Path(folder))
        kani(house, Reply(text="元気です。🦀"))
        with followed() as trip:
            interaction = ask(house, "元気ですか?")
            house.work()
        assert interaction.text == "元気です。🦀"
        house.close()
    return trip


def heartbeat() -> Trip:
    """Two minutes in which an agent wakes once for an event, and has nothing to say to it."""
    with _house() as house:
        beating.living(house, "crab", instructions="Look around")
        assert beating.tell(house, "crab")
        with followed() as trip:
            beating.minutes(house, 2, step=10)
        (turn,) = beating.turns(house, "crab")
        assert turn.status.is_end
    return trip


def night() -> Trip:
    """A look at the day of one agent that may choose between two models, and did so 120 times."""
    with _house() as house:
        nights.learner(house, **nights.APPLY)
        for model, good, turns in (("cheap", True, 60), ("dear", True, 30), ("dear", False, 30)):
            nights.lived(house, turns, good=good, model=model)
        house.clock.advance(86_400)
        with followed() as trip:
            looked = review_agent_now(house.runtime, "crab", "daily")
        assert (looked.turns, len(looked.adjustments), len(looked.report)) == (120, 1, 2)
    return trip


@contextmanager
def _house() -> Iterator[House]:
    with tempfile.TemporaryDirectory() as folder:
        house = House(HOMES[0], Path(folder))
        try:
            yield house
        finally:
            house.close()


def summary(trip: Trip) -> str:
    """Its figures, its modules by visits, and the pairs that it switches between most."""
    visits = trip.visits()
    rows = [str(trip), "visits returns module"]
    names = [module for module, _ in visits]
    back = Counter(here for here, before in zip(names[2:], names, strict=False) if here == before)
    for module, times in Counter(names).most_common():
        rows.append(f"{times:6} {back[module]:7} {module}")
    rows.append("\nswitches between")
    for (one, other), times in switches(visits).most_common(PAIRS):
        rows.append(f"{times:8} {one} {other}")
    return "\n".join(rows) + "\n"


def sequence(visits: list[Visit]) -> str:
    """Every visit with what was called in it."""
    return "".join(f"{module}: {' '.join(functions)}\n" for module, functions in visits)


def crossings(visits: list[Visit], one: str, other: str) -> str:
    """What is called of a module where the way goes to it from another one."""
    found = Counter(
        (before[1][-1], after[1])
        for before, after in pairwise(visits)
        if (before[0], after[0]) == (one, other)
    )
    return "".join(
        f"{times:4} after {function}: {' '.join(functions)}\n"
        for (function, functions), times in found.most_common()
    )


TRIPS: dict[str, Callable[[], Trip]] = {
    "a command on Discord": command,
    "two minutes with one heartbeat": heartbeat,
    "a nightly look": night,
}


def main() -> None:
    """Follow and print."""
    match sys.argv[1:]:
        case ["--counts"]:
            sys.stdout.write(json.dumps(command().counts()))
        case ["--sequence"]:
            sys.stdout.write(sequence(command().visits()))
        case ["--calls", one, other]:
            sys.stdout.write(crossings(command().visits(), one, other))
        case _:
            # Each in the state that a fresh process has, which for the first is the whole point.
            for name, trip in TRIPS.items():
                sys.stdout.write(f"# {name}\n{summary(trip())}\n")


if __name__ == "__main__":
    main()
