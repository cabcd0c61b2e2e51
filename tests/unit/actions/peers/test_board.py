"""The notice board: who writes on it, what is read, and what taints."""

import pytest

from opencrab.domain.peers.notice import KEPT
from tests.e2e.house import House
from tests.unit.actions.peers.asking import act, gathered


def test_a_notice_is_read_by_its_writer_without_taint_until_it_expires(home: House) -> None:
    gathered(home, "aki")
    assert act(home, "ask_for_help", text="潮の表が\nほしい").success
    result = act(home, "read_notices")
    assert result.data == {
        "notices": [
            {"by": "秋", "kind": "help", "text": "潮の表が ほしい", "at": "2026-01-05T09:00+00:00"}
        ]
    }
    assert not result.taint
    home.clock.advance(KEPT.total_seconds())
    assert act(home, "read_notices").data == {"notices": []}


@pytest.mark.parametrize("name", ["ask_for_help", "offer"])
def test_a_notice_without_words_is_refused(home: House, name: str) -> None:
    gathered(home, "aki")
    assert "blank" in (act(home, name, text="\u200b").error or "")
