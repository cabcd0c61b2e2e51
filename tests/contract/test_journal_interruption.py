"""Journal: what a worker reads while its model call runs, to end it when it must."""

import pytest

from opencrab.domain.errors import NotFound
from opencrab.domain.money.budget import INSTALLATION
from opencrab.domain.turn.turn import Stop
from opencrab.ports.home import Home
from tests.contract.example import NOW, later, running, turn


def test_a_turn_that_nothing_concerns_goes_on(home: Home) -> None:
    assert not home.journal.interruption(running(home))


@pytest.mark.parametrize("pause", [True, False])
def test_a_stop_or_a_pause_interrupts(home: Home, *, pause: bool) -> None:
    current = running(home)
    wish = Stop(by="花", reason="十分です", at=NOW, pause=pause)
    home.journal.stop(current.id, wish)
    found = home.journal.interruption(current)
    assert found
    assert found.stop == wish
    assert found.frozen is None


def test_a_pause_that_was_taken_back_does_not(home: Home) -> None:
    current = running(home)
    home.journal.stop(current.id, Stop(by="花", at=NOW, pause=True))
    home.journal.resume(current.id)
    assert not home.journal.interruption(current)


@pytest.mark.parametrize("scope", [INSTALLATION, "hana"])
def test_a_freeze_of_the_agent_or_of_everything_interrupts(home: Home, scope: str) -> None:
    current = running(home)
    home.switches.set(scope, frozen=True)
    assert home.journal.interruption(current).frozen == scope
    home.switches.set(scope, frozen=False)
    assert not home.journal.interruption(current)


def test_a_freeze_of_another_agent_does_not(home: Home) -> None:
    current = running(home)
    home.switches.set("kani", frozen=True)
    assert not home.journal.interruption(current)


def test_a_worker_whose_turn_another_one_has_is_interrupted(home: Home) -> None:
    current = running(home)
    home.journal.claim(current.id, lease_until=later(240), receipt=None)
    found = home.journal.interruption(current)
    assert found
    assert found.superseded


def test_a_turn_that_does_not_exist_is_not_found(home: Home) -> None:
    with pytest.raises(NotFound):
        home.journal.interruption(turn("t9"))
