"""Indexes of several agents: one that fails does not hold up the others, and is told again."""

import pytest

from opencrab.adapters.search_indexing import update_search_index_of_each
from opencrab.adapters.search_rows import ChangeHint
from opencrab.domain.errors import Unavailable

AGENTS = ("はな", "mika", "ken")


def test_an_index_that_fails_does_not_hold_up_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    updated = list[str]()

    def update(agent_id: str, _hint: ChangeHint) -> None:
        if agent_id == "mika":
            raise Unavailable("no space left")
        updated.append(agent_id)

    with pytest.raises(Unavailable, match="no space left"):
        update_search_index_of_each(dict.fromkeys(AGENTS, ChangeHint()), update)
    assert updated == ["はな", "ken"]
    assert "agent_id=mika" in caplog.text
