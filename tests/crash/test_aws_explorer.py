"""The fast share of the crash explorer on AWS; `make crash` does it all."""

from collections.abc import Iterator

import pytest

from tests.crash.aws_bugs import AWS_MUTATIONS
from tests.crash.aws_ground import AwsGround
from tests.crash.rest import Rest
from tests.crash.run import play
from tests.crash.scenarios import SCENARIOS, Scenario
from tests.crash.schedules import MODES, hunt, mutation_named, perform, some
from tests.crash.scheduling import Straight
from tests.crash.weather import Memory, Weather
from tests.crash.world import World
from tests.soak import count

CHANCE = count("random schedules of the crash explorer on AWS")
QUICKLY_CAUGHT = (
    "session counter not conditional",
    "quota settled after the put",
    "conflict taken for success",
)
"""The others take the full explorer some seconds each."""


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    world = World(AwsGround())
    yield world
    world.close()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_a_scenario_ends_on_aws_as_it_does_on_one_computer(
    world: World, scenario: Scenario
) -> None:
    assert play(world, (scenario,), Straight()) == []
    assert {turn["status"] for turn in Rest(world).turns.values()} == set(scenario.ends)


@pytest.mark.parametrize("mode", ["kills", "outages", "echoes", "conflicts", "lags", "stale"])
def test_trouble_at_a_call_of_aws_loses_and_repeats_nothing(world: World, mode: str) -> None:
    for scenario in SCENARIOS[::8]:
        names = some(MODES[mode](world, scenario), 2, scenario.name)
        assert {name: found for name in names if (found := perform(world, name))} == {}


def test_random_schedules_on_aws_lose_and_repeat_nothing(world: World) -> None:
    names = [f"random:{seed}" for seed in range(CHANCE)]
    assert {name: found for name in names if (found := perform(world, name))} == {}


def test_what_the_sweep_queued_for_the_end_of_a_lease_is_taken(world: World) -> None:
    trace: list[str] = []
    assert perform(world, "random:200661", trace=trace) == []
    assert any("in beats.receive" in each for each in trace)


def test_an_agent_of_an_earlier_run_was_there_before_one_of_this_run_came() -> None:
    world = World(AwsGround())
    assert perform(world, "random:200031") == []
    assert perform(world, "random:200032") == []
    world.close()


@pytest.mark.parametrize("name", QUICKLY_CAUGHT)
def test_a_seeded_bug_of_an_aws_adapter_is_caught(world: World, name: str) -> None:
    assert hunt(world, mutation_named(name)) is not None


def test_every_seeded_bug_of_an_aws_adapter_has_a_name_of_its_own() -> None:
    assert len({bug.name for bug in AWS_MUTATIONS}) == len(AWS_MUTATIONS) >= 6


def test_conflicts_happen_where_they_are_wanted(world: World) -> None:
    stormy = Weather(conflicts=0.7, memory=Memory.WARM, seed="storm")
    assert play(world, (SCENARIOS[3],), Straight(), weather=stormy) == []
    assert stormy.met > 10


def test_a_lagging_index_is_asked_and_misleads_nobody(world: World) -> None:
    behind = Weather(lag=30, memory=Memory.STALE, seed="behind")
    assert play(world, (SCENARIOS[3],), Straight(), weather=behind) == []
    assert behind.stale > 0
