"""The fast share of the simulation; `make money` does a million steps."""

from collections.abc import Iterator

import pytest

from opencrab.domain.models.fault import Fault
from opencrab.domain.turn.turn import TurnStatus
from tests.crash.aws_ground import AwsGround
from tests.crash.sqlite_ground import SqliteGround
from tests.money.bugs import BUGS, Seeded, hunt
from tests.money.playing import Totals, play, play_steps
from tests.money.town import Town

STEPS = 7_000


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    ground = SqliteGround(tmp_path_factory.mktemp("money"))
    yield Town(ground)
    ground.close()


def test_nothing_is_overspent_whoever_dies_whatever_fails(town: Town) -> None:
    totals = play_steps(town, 8, 2 * STEPS, None)
    assert totals.violations == []
    assert totals.counts["overspend"] == 0
    assert totals.counts["billed"] > 0
    trouble = ("kills", "sleepers", "conflicts", "unknown", "fallbacks")
    assert all(totals.counts[kind] > 0 for kind in trouble)
    assert totals.counts["days"] > totals.counts["runs"]
    assert totals.scopes.keys() == {"agent", "installation", "session", "heartbeat", "public"}
    assert set(totals.ends) == {status.value for status in TurnStatus if status.is_end}
    assert len(totals.faults) > len(Fault) / 2


def test_with_seventy_per_cent_conflicts_every_turn_still_ends(town: Town) -> None:
    totals = play_steps(town, 2, STEPS, 0.7)
    assert totals.violations == []
    assert totals.counts["overspend"] == 0
    assert totals.counts["conflicts"] > STEPS / 50
    assert totals.ends.total() == totals.counts["turns"] > 0


def test_the_same_seed_gives_the_same_run(town: Town) -> None:
    runs = [Totals(), Totals()]
    for totals in runs:
        assert play(town, "again", totals, 0.2, most=12) == []
    assert runs[0] == runs[1]


def test_on_aws_nothing_is_overspent_either(aws_town: Town) -> None:
    totals = Totals()
    assert play(aws_town, "aws 2", totals, 0.7, most=2) == []
    limits = aws_town.rules.limits
    assert min(limits.turn_micro_usd, limits.agent_day_micro_usd) > 0, "choose a richer seed"
    assert totals.counts["overspend"] == 0
    assert totals.counts["billed"] > 0
    assert totals.counts["conflicts"] > 0


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_seeded_bug_is_caught(town: Town, bug: Seeded) -> None:
    assert hunt(town, bug) is not None


@pytest.fixture(scope="module")
def aws_town() -> Iterator[Town]:
    ground = AwsGround()
    yield Town(ground)
    ground.close()
