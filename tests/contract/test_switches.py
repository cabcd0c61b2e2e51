"""Switches: frozen or running, per agent and for everything."""

import pytest

from opencrab.ports.home import Home


@pytest.mark.parametrize("scope", ["hana", "installation"])
def test_a_switch_is_off_until_it_is_turned(home: Home, scope: str) -> None:
    assert not home.switches.is_frozen(scope)


@pytest.mark.parametrize("scope", ["hana", "installation"])
def test_a_switch_is_read_as_it_was_turned_last(home: Home, scope: str) -> None:
    for frozen in (True, True, False, False, True):
        home.switches.set(scope, frozen=frozen)
        assert home.switches.is_frozen(scope) is frozen


def test_switches_do_not_turn_each_other(home: Home) -> None:
    home.switches.set("hana", frozen=True)
    assert not home.switches.is_frozen("ken")
    assert not home.switches.is_frozen("installation")


def test_everything_that_is_frozen_is_listed(home: Home) -> None:
    assert home.switches.all_frozen() == ()
    for scope in ("ken", "installation", "hana", "a-z_0"):
        home.switches.set(scope, frozen=True)
    home.switches.set("ken", frozen=False)
    home.switches.set("mika", frozen=False)
    assert home.switches.all_frozen() == ("a-z_0", "hana", "installation")
    for scope in home.switches.all_frozen():
        home.switches.set(scope, frozen=False)
    assert home.switches.all_frozen() == ()
