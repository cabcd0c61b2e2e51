"""Eight founders in the demo world: two processes, kills of both, and books that agree."""

from pathlib import Path

import pytest

from tests.integration.local.world_day import Show


@pytest.mark.slow
def test_balances_add_up_on_both_sides_whoever_is_killed(tmp_path: Path) -> None:
    show = Show(tmp_path, seconds_per_hour=1.0, seed=3, language="ja")
    found = show.live(kills=2, messages=24)
    assert found.kills == {"installation": 1, "world": 1}
    assert found.messages >= 24
    assert found.cycle >= 1
    # What was sent was paid for, and the agents were told of their world.
    assert found.entries >= 8
    assert "火花" in found.balances
    assert all("ワールドでの名前" in text for text in show.trader.seen)
