"""Vectors, with their worker killed around every call of a port: never uncounted, never twice."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from opencrab.domain.errors import NotFound
from opencrab.domain.money.budget import INSTALLATION, agent_budget_scope
from opencrab.domain.turn.turn import TurnStatus
from tests.crash.scheduling import Killed
from tests.crash.test_compaction import Death, Mortal
from tests.unit.engine.memory.test_embedding import COST, DAY, TEXTS, Buyer


class Watched:
    """A journal that remembers which turns were opened."""

    def __init__(self, journal: Any, opened: list[str]) -> None:
        self._journal, self._opened = journal, opened

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    def open(self, turn: Any) -> Any:
        self._opened.append(turn.id)
        return self._journal.open(turn)


def story(folder: Path, death: Death) -> Buyer:
    """One purchase with one death on the way, the sweep after it, and a purchase in peace."""
    at = Buyer(folder)
    journal = Watched(Mortal(at.house.home.journal, death), at.opened)
    agents = Mortal(at.house.home.agents, death)
    with suppress(Killed):
        at.made(journal=journal, agents=agents).embed("mika", TEXTS)
    for _ in range(3):
        at.house.later(2_000)
    at.embedder = at.made(journal=Watched(at.house.home.journal, at.opened))
    assert at.buy() is not None
    return at


@pytest.mark.parametrize("after", [False, True])
def test_a_worker_that_dies_is_charged_in_full_at_most(
    after: bool,  # noqa: FBT001
    tmp_path: Path,
) -> None:
    calm = Death(0, after=False)
    story(tmp_path / "calm", calm).house.close()
    assert calm.calls >= 6
    for point in range(1, calm.calls + 1):
        at = story(tmp_path / f"{point}", Death(point, after))
        home, rows = at.house.home, at.rows()
        spent = sum(row.cost for row in rows)
        assert at.vendor.billed <= spent <= COST + max(row.reserved for row in rows), point
        assert at.drawn() == {spent}, point
        assert len(rows) >= at.vendor.received, point
        for turn_id in at.opened:
            with suppress(NotFound):
                turn = home.journal.header(turn_id)
                assert turn.status.is_end, point
                assert turn.allowance == 0, point
        assert home.compactions.list_dead_letters(10) == (), point
        ended = [at.house.turn(row.turn_id).status for row in rows]
        assert set(ended) <= {TurnStatus.COMPLETED, TurnStatus.FAILED}, point
        assert all(
            home.budgets.drawn_micro_usd(scope, DAY) == spent
            for scope in (INSTALLATION, agent_budget_scope("mika"))
        )
        at.house.close()
