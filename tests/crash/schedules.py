"""Which runs there are: a kill at each point, pairs of kills, sleepers, echoes, and chance.

Every run has a name, such as `kill:text:14` or `random:4711`, and the name is all that is needed
to repeat it.
"""

import random
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, zip_longest

from tests.crash.aws_bugs import AWS_MUTATIONS
from tests.crash.mutations import MUTATIONS
from tests.crash.run import play
from tests.crash.scenarios import SCENARIOS, Scenario
from tests.crash.scheduling import Chance, Fault, Place, Plan, Straight
from tests.crash.weather import CONFLICTS, Memory, Weather
from tests.crash.weather import by_chance as climate
from tests.crash.world import Mutation, World

BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}
REST = "rest"
Mode = Callable[[World, Scenario], Iterator[str]]
"""The names of a scenario's runs of one kind."""

SEEDS = 4
"""How often a scenario is played in one weather, with and without other trouble."""

_FAULTS = {
    "kill": Fault.KILL,
    "pair": Fault.KILL,
    "sleep": Fault.SLEEP,
    "echo": Fault.ECHO,
    "outage": Fault.OUTAGE,
    "stale": Fault.KILL,
}


def perform(
    world: World, name: str, mutation: Mutation | None = None, trace: list[str] | None = None
) -> list[str]:
    """Play the run of this name; answers what went wrong."""
    kind, _, details = name.partition(":")
    if kind in {"random", "conflict", "lag"}:
        scenarios, plan = by_chance(details)
        weather = _weather(kind, details) if world.ground.name == "aws" else None
        return play(world, scenarios, plan, mutation, trace=trace, weather=weather)
    scenario, *points = details.split(":")
    wake_after = None
    if kind == "sleep":
        wake = points.pop()
        wake_after = None if wake == REST else int(wake)
    faults = {int(point): _FAULTS[kind] for point in points}
    straight = Straight(faults, wake_after=wake_after)
    weather = Weather(memory=Memory.STALE) if kind == "stale" else None
    return play(world, (BY_NAME[scenario],), straight, mutation, trace=trace, weather=weather)


def _weather(kind: str, seed: str) -> Weather:
    """How AWS is in a run: some of everything, or one thing at its worst."""
    if kind == "random":
        return climate(seed)
    memory = random.Random(f"memory {seed}").choice(tuple(Memory))
    if kind == "conflict":
        return Weather(conflicts=CONFLICTS, memory=memory, seed=seed)
    return Weather(lag=30, memory=memory, seed=seed)


def by_chance(details: str) -> tuple[tuple[Scenario, ...], Plan]:
    """The scenarios and the plan of a seed.

    `long/17` is seed 17 of that scenario alone; in `long/=17` nothing happens but the weather.
    """
    named, _, seed = details.rpartition("/")
    if named:
        plan = Straight() if seed.startswith("=") else Chance(int(seed))
        return (BY_NAME[named],), plan
    chooser = random.Random(f"cast {seed}")
    several = 2 if chooser.random() < 0.15 else 1
    return tuple(chooser.sample(SCENARIOS, several)), Chance(int(seed))


def places(world: World, scenario: Scenario, *faults: int) -> list[Place]:
    """The I/O points of a scenario when workers are killed at these points: always the same."""
    known = world.places.get((scenario.name, faults))
    if known is None:
        plan = Straight(dict.fromkeys(faults, Fault.KILL))
        play(world, (scenario,), plan)
        known = world.places[scenario.name, faults] = plan.seen
    return known


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


def kills(world: World, scenario: Scenario) -> Iterator[str]:
    """A kill at each point that leaves something different behind."""
    for point in distinct(places(world, scenario)):
        yield f"kill:{scenario.name}:{point}"


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


def conflicts(world: World, scenario: Scenario) -> Iterator[str]:
    """Seven of ten writes meet another transaction: alone, and under random schedules."""
    return _under("conflict", scenario)


def lags(world: World, scenario: Scenario) -> Iterator[str]:
    """Indexes and cheap reads that are up to thirty changes behind."""
    return _under("lag", scenario)


def stale(world: World, scenario: Scenario) -> Iterator[str]:
    """A kill at each distinct point, while everybody guesses from the oldest look there was."""
    for point in distinct(places(world, scenario)):
        yield f"stale:{scenario.name}:{point}"


def _under(weather: str, scenario: Scenario) -> Iterator[str]:
    for seed in range(SEEDS):
        yield f"{weather}:{scenario.name}/={seed}"
        yield f"{weather}:{scenario.name}/{seed}"


def some(names: Iterable[str], count: int, seed: str) -> list[str]:
    """The same few of many, every time."""
    every = list(names)
    return random.Random(seed).sample(every, min(count, len(every)))


MODES: dict[str, Mode] = {
    mode.__name__: mode
    for mode in (singles, kills, pairs, sleepers, echoes, outages, conflicts, lags, stale)
}


def hunt(world: World, mutation: Mutation, chances: int = 300) -> str | None:
    """The name of the first run that catches a seeded bug, in the fast share."""
    known = filter(None, [mutation.caught_by])
    for name in chain(known, _hunting(world, mutation, chances)):
        if perform(world, name, mutation):
            return name
    return None


def seeded(ground: str) -> tuple[Mutation, ...]:
    """The seeded bugs that are looked for on a ground."""
    return AWS_MUTATIONS if ground == "aws" else MUTATIONS


def mutation_named(name: str) -> Mutation:
    """A seeded bug by its name."""
    return next(one for one in (*MUTATIONS, *AWS_MUTATIONS) if one.name == name)


def _hunting(world: World, mutation: Mutation, chances: int) -> Iterator[str]:
    """Runs of the bug's scenarios, one of each mode in turn."""
    scenarios = [BY_NAME[name] for name in mutation.scenarios]
    modes = [
        *(MODES[look](world, each) for look in mutation.looks for each in scenarios),
        *([f"random:{each.name}/{seed}" for seed in range(chances)] for each in scenarios),
    ]
    for names in zip_longest(*modes):
        yield from filter(None, names)
