"""The fast share of the crash explorer; `make crash` does it all."""

import random
from collections.abc import Callable, Iterator

import pytest

from tests.crash.mutations import MUTATIONS
from tests.crash.rest import Rest
from tests.crash.run import play
from tests.crash.scenarios import SCENARIOS, Scenario
from tests.crash.schedules import (
    distinct,
    echoes,
    hunt,
    outages,
    perform,
    places,
    sleepers,
    some_pairs,
)
from tests.crash.scheduling import Straight
from tests.crash.sqlite_ground import SqliteGround
from tests.crash.world import Mutation, World
from tests.soak import count

CHANCE = count("random schedules of the crash explorer")
SAMPLE = 6


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    world = World(SqliteGround(tmp_path_factory.mktemp("crash")))
    yield world
    world.close()


def sample(names: Iterator[str], scenario: Scenario) -> list[str]:
    """The same few of many, every time."""
    every = list(names)
    chooser = random.Random(scenario.name)
    return chooser.sample(every, min(SAMPLE, len(every)))


def violations(world: World, names: Iterator[str] | list[str]) -> dict[str, list[str]]:
    played = {name: perform(world, name) for name in names}
    return {name: found for name, found in played.items() if found}


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_a_scenario_ends_as_it_should_when_nobody_dies(world: World, scenario: Scenario) -> None:
    assert play(world, (scenario,), Straight()) == []
    assert {turn["status"] for turn in Rest(world).turns.values()} == set(scenario.ends)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_a_kill_at_any_point_loses_and_repeats_nothing(world: World, scenario: Scenario) -> None:
    points = distinct(places(world, scenario))
    names = [f"kill:{scenario.name}:{point}" for point in points]
    assert len(names) > 8
    assert violations(world, names) == {}


def test_two_kills_lose_and_repeat_nothing(world: World) -> None:
    for scenario in SCENARIOS:
        assert violations(world, some_pairs(world, scenario, SAMPLE)) == {}


@pytest.mark.parametrize("mode", [sleepers, echoes, outages], ids=["zombies", "echoes", "outages"])
def test_zombies_echoes_and_outages_lose_and_repeat_nothing(
    world: World, mode: Callable[[World, Scenario], Iterator[str]]
) -> None:
    for scenario in SCENARIOS:
        assert violations(world, sample(mode(world, scenario), scenario)) == {}


def test_three_workers_under_random_schedules_lose_and_repeat_nothing(world: World) -> None:
    assert violations(world, [f"random:{seed}" for seed in range(CHANCE)]) == {}


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_seeded_bug_is_caught(world: World, mutation: Mutation) -> None:
    assert hunt(world, mutation) is not None
