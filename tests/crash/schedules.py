"""Which runs there are: a kill at each point, pairs of kills, sleepers, echoes, and chance.

Every run has a name, such as `kill:text:14` or `random:4711`, and the name is all that is needed
to repeat it.
"""

import random
from collections.abc import Iterator
from itertools import zip_longest

from tests.crash.mutations import MUTATIONS
from tests.crash.run import play
from tests.crash.scenarios import SCENARIOS, Scenario
from tests.crash.scheduling import Chance, Fault, Place, Plan, Straight
from tests.crash.world import Mutation, World

BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}
REST = "rest"
_FAULTS = {
    "kill": Fault.KILL,
    "pair": Fault.KILL,
    "sleep": Fault.SLEEP,
    "echo": Fault.ECHO,
    "outage": Fault.OUTAGE,
}


def perform(
    world: World, name: str, mutation: Mutation | None = None, trace: list[str] | None = None
) -> list[str]:
    """Play the run of this name; answers what went wrong."""
    kind, _, details = name.partition(":")
    if kind == "random":
        scenarios, plan = by_chance(details)
        return play(world, scenarios, plan, mutation, trace=trace)
    scenario, *points = details.split(":")
    wake_after = None
    if kind == "sleep":
        wake = points.pop()
        wake_after = None if wake == REST else int(wake)
    faults = {int(point): _FAULTS[kind] for point in points}
    straight = Straight(faults, wake_after=wake_after)
    return play(world, (BY_NAME[scenario],), straight, mutation, trace=trace)


def by_chance(details: str) -> tuple[tuple[Scenario, ...], Plan]:
    """The scenarios and the plan of a seed; `long/17` is seed 17 of that scenario alone."""
    named, _, seed = details.rpartition("/")
    if named:
        return (BY_NAME[named],), Chance(int(seed))
    chooser = random.Random(f"cast {seed}")
    several = 2 if chooser.random() < 0.15 else 1
    return tuple(chooser.sample(SCENARIOS, several)), Chance(int(seed))


def places(world: World, scenario: Scenario, *faults: int) -> list[Place]:
    """The I/O points of a scenario when workers are killed at these points."""
    plan = Straight(dict.fromkeys(faults, Fault.KILL))
    play(world, (scenario,), plan)
    return plan.seen


def distinct(seen: list[Place], after: int = 0) -> list[int]:
    """Points that leave different things behind: not also the one before the next call.

    Between the point after a call and the one before the same worker's next call nothing happens
    that outlives it, so a kill at either is the same.
    """
    return [
        place.number
        for last, place in zip([None, *seen], seen, strict=False)
        if place.number > after
        and not (
            last is not None
            and place.phase == "before"
            and last.phase == "after"
            and last.worker == place.worker
            and last.number > after
        )
    ]


def singles(world: World, scenario: Scenario) -> Iterator[str]:
    """A kill before and after every call."""
    for place in places(world, scenario):
        yield f"kill:{scenario.name}:{place.number}"


def pairs(world: World, scenario: Scenario) -> Iterator[str]:
    """A kill, and another one at each distinct point that comes after it."""
    for first in distinct(places(world, scenario)):
        for second in distinct(places(world, scenario, first), after=first):
            yield f"pair:{scenario.name}:{first}:{second}"


def some_pairs(world: World, scenario: Scenario, count: int) -> Iterator[str]:
    """A few of the pairs, the same ones every time."""
    chooser = random.Random(f"pairs {scenario.name}")
    points = distinct(places(world, scenario))
    for first in chooser.sample(points, min(count, len(points))):
        later = distinct(places(world, scenario, first), after=first)
        if later:
            yield f"pair:{scenario.name}:{first}:{chooser.choice(later)}"


def sleepers(world: World, scenario: Scenario) -> Iterator[str]:
    """A worker that sleeps at each point, and wakes when all is over or in the midst of it."""
    for place in places(world, scenario):
        yield f"sleep:{scenario.name}:{place.number}:{REST}"
        yield f"sleep:{scenario.name}:{place.number}:0"
        yield f"sleep:{scenario.name}:{place.number}:{1 + place.number * 7 % 29}"


def echoes(world: World, scenario: Scenario) -> Iterator[str]:
    """Each call of a port carried twice by the network."""
    for place in places(world, scenario):
        if place.phase == "before":
            yield f"echo:{scenario.name}:{place.number}"


def outages(world: World, scenario: Scenario) -> Iterator[str]:
    """A store that does not answer, before or after it did what it was asked."""
    for place in places(world, scenario):
        yield f"outage:{scenario.name}:{place.number}"


def hunt(world: World, mutation: Mutation, chances: int = 300) -> str | None:
    """The name of the first run that catches a seeded bug, in the fast share."""
    for name in _hunting(world, mutation, chances):
        if perform(world, name, mutation):
            return name
    return None


def mutation_named(name: str) -> Mutation:
    """A seeded bug by its name."""
    return next(mutation for mutation in MUTATIONS if mutation.name == name)


def _hunting(world: World, mutation: Mutation, chances: int) -> Iterator[str]:
    """Runs of the bug's scenarios, one of each mode in turn."""
    scenarios = [BY_NAME[name] for name in mutation.scenarios]
    modes = [
        *(
            list(mode(world, each))
            for mode in (singles, echoes, sleepers, outages)
            for each in scenarios
        ),
        *([f"random:{each.name}/{seed}" for seed in range(chances)] for each in scenarios),
    ]
    for names in zip_longest(*modes):
        yield from filter(None, names)
