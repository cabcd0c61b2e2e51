"""A summary, with its worker killed around every call of a port: one is made, and paid for once.

`make soak` kills at every point, `make test` at some.
"""

import random
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from opencrab.domain.memory.summary import SummarySpan
from opencrab.domain.money.budget import INSTALLATION, agent_budget_scope
from opencrab.ports.home import Home
from tests.crash.scheduling import Killed
from tests.e2e.house import House
from tests.soak import SOAK
from tests.unit.engine.compacting import EVERY, ask, grow, house, progress, shelf, summaries

DAY = 86_400
SHARE = 24


@dataclass
class Death:
    """Kills at the n-th call, before it or after it has done its work."""

    at: int
    after: bool
    calls: int = 0

    def around(self, call: Any, *arguments: Any, **named: Any) -> Any:
        self.calls += 1
        here = self.calls == self.at
        if here and not self.after:
            raise Killed("before")
        answer = call(*arguments, **named)
        if here:
            raise Killed("after")
        return answer


class Mortal:
    """A port under whose calls a worker may die."""

    def __init__(self, target: object, death: Death) -> None:
        self._target = target
        self._death = death

    def __getattr__(self, method: str) -> Any:
        inner = getattr(self._target, method)
        if not callable(inner):
            return inner
        return lambda *arguments, **named: self._death.around(inner, *arguments, **named)


def story(folder: Path, death: Death) -> House:
    """Two stretches and the day after them, with one death on the way."""
    made, _ = house(folder)
    ports: dict[str, Any] = {
        name: Mortal(getattr(made.home, name), death) for name in Home.__dataclass_fields__
    }
    made.runtime = replace(made.runtime, home=replace(made.home, **ports))
    grow(made, EVERY * 2)
    made.runtime, mortal = replace(made.runtime, home=made.home), made.runtime
    ask(made)
    made.runtime = mortal
    for cause in ("2", "3"):
        for _ in range(4):
            with suppress(Killed):
                made.work()
            made.clock.advance(2_000)
            with suppress(Killed):
                made.later(0)
        made.clock.advance(DAY)
        with suppress(Killed):
            ask(made, cause)
    made.runtime = replace(made.runtime, home=made.home)
    ask(made, "4")
    for _ in range(4):
        made.later(2_000)
    return made


@pytest.mark.parametrize("after", [False, True])
def test_a_worker_that_dies_leaves_one_summary_of_each_stretch(
    after: bool,  # noqa: FBT001
    tmp_path: Path,
) -> None:
    calm = Death(0, after=False)
    story(tmp_path / "calm", calm).close()
    points = range(1, calm.calls + 1)
    some = points if SOAK else random.Random(after).sample(points, SHARE)
    for at in some:
        made = story(tmp_path / f"{at}", Death(at, after))
        found = summaries(made)
        topics = [s.sources[0].first for s in found if s.span is SummarySpan.TOPIC]
        assert topics == [1, EVERY + 1], at
        assert [s.parts for s in found if s.span is SummarySpan.DAY] == [("S1", "S2")], at
        assert [s.id for s in found] == ["S1", "S2", "S3"], at
        assert (progress(made).done, shelf(made).last) == (EVERY * 2, 3), at
        _paid(made, at)
        made.close()


def _paid(made: House, at: int) -> None:
    """What was drawn is what the turns spent: no less than the provider charged, no call twice."""
    rows = [made.turn(summary.turn_id) for summary in summaries(made)]
    spent = sum(turn.spent for turn in rows)
    days = {block.day for turn in rows for block in turn.blocks}
    for scope in (INSTALLATION, agent_budget_scope("mika")):
        assert sum(made.home.budgets.drawn_micro_usd(scope, day) for day in days) == spent, at
    assert all(turn.allowance == 0 for turn in rows), at
    assert made.provider.bill.total <= spent, at
    assert made.provider.bill.received <= len(rows) + 1, at
