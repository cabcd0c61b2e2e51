"""The fast share of the hostile model; `make hostile` does 100,000 steps and hunts every bug."""

import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from tests.hostile.bugs import BUGS, hunt
from tests.hostile.faults import FAULTS
from tests.hostile.moves import MOVES, make
from tests.hostile.playing import Totals, play, rest_problems, settle, step_problems
from tests.hostile.world import Bug, World
from tests.soak import examples

RUNS = 12
QUICKLY = {
    "TurnsForgetTaint": 0,
    "PublicAreUsers": 2,
    "PrivateLinesShown": 1,
    "ReservedLate": 0,
    "StepsForgotten": 0,
    "QuarantineIgnored": 3,
    "InnerCheckSkipped": 0,
    "PeersMayAll": 2,
    "LevelForgotten": 0,
    "AllowedBySubstring": 0,
    "HeadersForgetSenders": 0,
    "InterruptedGoalsForgetTaint": 14,
    "OldTurnsAdvanceGoals": 2,
}
"""Bugs that one run catches early, with its number; the others are left to `make hostile`."""


class HostileMachine(RuleBasedStateMachine):
    """Any moves in any order; what the model does comes from a seed that each move brings."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory(prefix="opencrab-hostile-")
        self._dice = random.Random(0)  # noqa: S311 - a schedule, not a secret
        self.world = World(Path(self._folder.name), self._dice)

    @rule(name=st.sampled_from(sorted(MOVES)), seed=st.integers(0, 2**32))
    def anything(self, name: str, seed: int) -> None:
        self._dice.seed(seed)
        make(self.world, name)

    @rule(seed=st.integers(0, 2**32))
    def somebody_speaks_and_is_answered(self, seed: int) -> None:
        self._dice.seed(seed)
        speaks = sorted(name for name in MOVES if name.startswith("say_"))
        make(self.world, self._dice.choice(speaks))
        make(self.world, "work")

    @invariant()
    def nothing_is_wrong(self) -> None:
        assert step_problems(self.world) == []

    def teardown(self) -> None:
        try:
            assert [*settle(self.world), *rest_problems(self.world)] == []
        finally:
            self.world.close()
            self._folder.cleanup()


def test_whatever_a_hostile_model_does_it_stays_in_its_bounds() -> None:
    chosen = settings(max_examples=examples(3), stateful_step_count=8, deadline=None, database=None)
    run_state_machine_as_test(HostileMachine, settings=chosen)


def test_a_long_run_ends_and_nothing_gets_out(tmp_path: Path) -> None:
    totals = Totals()
    assert play(tmp_path, "share/1", totals, most=40) == []
    assert totals.counts["actions run"] > 0
    assert totals.counts["tainted turns"] > 0
    assert totals.ends.total() == totals.counts["turns"] > 0


@pytest.mark.parametrize(
    "bug", [bug for bug in BUGS if bug.name in QUICKLY], ids=lambda bug: bug.name
)
def test_a_seeded_bug_is_caught(tmp_path: Path, bug: Bug) -> None:
    assert hunt(bug, tmp_path, RUNS, first=QUICKLY[bug.name]) is not None


def test_there_are_enough_bugs_each_with_a_name_of_its_own() -> None:
    assert len({bug.name for bug in BUGS}) == len(BUGS) >= 25


def test_a_fault_in_the_source_is_gone_after_its_run() -> None:
    for fault in FAULTS:
        for _ in range(2):
            with fault.active(), pytest.raises(LookupError), fault.active():
                raise AssertionError
