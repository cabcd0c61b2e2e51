"""The time that a worker has left: enough for a whole model call and what follows it, or none."""

import pytest

from opencrab.engine.turn.run import SLACK_SECONDS, Pace


@pytest.mark.parametrize(
    ("left", "stopping", "allowed"),
    [
        (60 + SLACK_SECONDS, False, True),
        (59.9 + SLACK_SECONDS, False, False),
        (60.0, False, False),
        (0.0, False, False),
        (float("inf"), True, False),
    ],
)
def test_a_call_begins_only_if_it_can_end_in_time(
    left: float, *, stopping: bool, allowed: bool
) -> None:
    pace = Pace(seconds_left=lambda: left, stopping=lambda: stopping)
    assert pace.allows(60.0) is allowed


def test_a_worker_without_a_deadline_may_always_call() -> None:
    assert Pace().allows(1_000_000.0)
