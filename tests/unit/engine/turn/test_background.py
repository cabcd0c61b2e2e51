"""Background turns: what no registered job takes is kept for the operator, never dropped."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import pytest

from opencrab.domain.agents.agent import Profile
from opencrab.domain.conversation.session import Session
from opencrab.domain.turn.turn import DELIVERIES_WITHOUT_PROGRESS, Turn
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.background import run_background_turn
from opencrab.engine.turn.run import Pace
from opencrab.engine.turn.work import QuestionJob
from opencrab.ports.turn.queue import MessageOutcome
from tests.crash.scheduling import Killed
from tests.e2e.house import House
from tests.unit.engine.compacting import EVERY, ask, grow, house, summaries


def carried(made: House, *, jobs: bool) -> MessageOutcome:
    """The next message, by a worker that knows the jobs, or none of them."""
    queue = made.home.compactions
    delivery = queue.receive(visibility_seconds=60, wait_seconds=0)
    assert delivery is not None
    runtime = made.runtime if jobs else dataclasses.replace(made.runtime, jobs=())
    outcome = run_background_turn(runtime, delivery, Pace())
    if outcome is MessageOutcome.FINISHED:
        queue.acknowledge(delivery.receipt)
    return outcome


def test_a_wish_that_no_job_takes_lies_among_the_dead_letters(tmp_path: Path) -> None:
    made, _ = house(tmp_path)
    grow(made, EVERY)
    ask(made)
    assert carried(made, jobs=False) is MessageOutcome.FINISHED
    ((_, reason),) = made.home.compactions.list_dead_letters(10)
    assert "no background job" in reason
    made.close()


def test_a_turn_that_no_job_serves_ends_as_failed_and_is_kept(tmp_path: Path) -> None:
    made, _ = house(tmp_path)
    grow(made, EVERY)
    ask(made)
    carried(made, jobs=True)
    carried(made, jobs=False)
    ((_, reason),) = made.home.compactions.list_dead_letters(10)
    assert "no background job handles turn" in reason
    assert not summaries(made)
    made.close()


def deaths(made: House) -> int:
    """Let every worker die in its model call, until nobody tries any more."""

    def dies() -> None:
        raise Killed

    made.interrupt(dies)
    died = 0
    for _ in range(20):
        try:
            while made.compact():
                pass
        except Killed:
            died += 1
        made.clock.advance(3_600)
    return died


@pytest.mark.parametrize(("max_steps", "died"), [(50, DELIVERIES_WITHOUT_PROGRESS), (2, 2), (1, 1)])
def test_a_summary_that_kills_its_workers_is_given_up(
    tmp_path: Path, max_steps: int, died: int
) -> None:
    made, _ = house(tmp_path, max_steps=max_steps)
    grow(made, EVERY)
    ask(made)
    assert deaths(made) == died
    assert not summaries(made)
    made.close()


def test_a_worker_whose_message_came_again_lets_nothing_follow_a_turn_that_runs(
    tmp_path: Path,
) -> None:
    class Following:
        def open_turn(self, runtime: Runtime, message: Mapping[str, str]) -> bool:
            raise AssertionError

        def handles_turn(self, turn: Turn) -> bool:
            return True

        def prepare(
            self, runtime: Runtime, turn: Turn, profile: Profile
        ) -> tuple[Turn, Session, QuestionJob]:
            raise AssertionError

        def after_end(self, runtime: Runtime, turn: Turn) -> None:
            raise AssertionError(turn.status)

    made, _ = house(tmp_path)
    grow(made, EVERY)
    ask(made)
    carried(made, jobs=True)
    late = made.home.compactions.receive(visibility_seconds=60, wait_seconds=0)
    made.clock.advance(61)
    second = made.home.compactions.receive(visibility_seconds=60, wait_seconds=0)
    assert late is not None
    assert second is not None
    assert late.body == second.body
    runtime = dataclasses.replace(made.runtime, jobs=(Following(),))
    assert run_background_turn(runtime, late, Pace()) is MessageOutcome.FINISHED
    assert run_background_turn(made.runtime, second, Pace()) is MessageOutcome.FINISHED
    assert len(summaries(made)) == 1
    made.close()
