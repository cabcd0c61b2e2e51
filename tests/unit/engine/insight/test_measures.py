"""What is read to measure an agent: days, week by week."""

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.usage.ledger import Period
from opencrab.engine.insight.measures import read_learning_tallies
from tests.unit.domain.measured import GPT, NOW, ago, calls

DAYS = (*calls(GPT, 2, at=ago(24 * 20)), *calls(GPT, 1, at=ago(24 * 9)), *calls(GPT, 3))


def test_of_a_month_one_week_at_a_time_is_held() -> None:
    asked: list[tuple[str, str]] = []

    def between(_agent_id: str, first: str, last: str) -> tuple[Any, ...]:
        asked.append((first, last))
        return tuple(tally for tally in DAYS if first <= tally.day <= last)

    home = SimpleNamespace(tallies=SimpleNamespace(between=between))
    runtime: Any = SimpleNamespace(home=home, clock=FakeClock(NOW))
    found = read_learning_tallies(runtime, "mika", Period.LAST_MONTH)
    assert asked == []
    assert next(found) == DAYS[0]
    assert len(asked) == 2
    assert list(found) == [*DAYS[1:]]
    assert asked[0] == ("2026-10-23", "2026-10-29")
    assert asked[-1][1] == "2026-11-22"
    assert [one[1] < other[0] for one, other in pairwise(asked)] == [True] * 4
