"""Journal: a step of a turn with facts, or under a pause, is one change like any other."""

import pytest

from opencrab.domain.errors import Changed, Superseded
from opencrab.ports.home import Home
from tests.contract.example import ENGLISH, fact, hold, later, result, running, step, wish
from tests.contract.following import told


def test_a_change_moves_facts_on_and_removes_them(home: Home) -> None:
    home.facts.commit(fact("a"), fact("b"))
    facts = (fact("a", ENGLISH, version=2), fact("b").removed(), fact("c"))
    home.journal.commit(step(running(home), facts=facts))
    assert home.facts.page("hana", "note") == (facts[0], fact("c"))


def test_facts_are_not_told_in_the_feed(home: Home) -> None:
    current = running(home)
    before = len(told(home))
    home.facts.commit(fact())
    home.journal.commit(step(current, facts=(fact("b"),)))
    assert len(told(home)) == before


def test_a_fact_that_moved_on_leaves_the_turn_to_its_worker(home: Home) -> None:
    current = running(home)
    home.facts.commit(fact())
    with pytest.raises(Changed, match="note 'a'"):
        home.journal.commit(step(current, result(), facts=(fact(text=ENGLISH),)))
    again = home.journal.commit(step(current, result(), facts=(fact(text=ENGLISH, version=2),)))
    assert (again.sequence, home.facts.get("hana", "note", "a")) == (
        2,
        fact(text=ENGLISH, version=2),
    )


def test_who_lost_the_turn_hears_of_that_first(home: Home) -> None:
    current = running(home)
    home.facts.commit(fact())
    home.journal.claim("t1", lease_until=later(240), receipt=None)
    with pytest.raises(Superseded):
        home.journal.commit(step(current, facts=(fact(),)))


def test_a_result_is_kept_whatever_becomes_of_a_pause(home: Home) -> None:
    current = running(home)
    paused = home.journal.stop("t1", hold())
    stored = home.journal.commit(step(current, result(1)))
    assert stored.stop == hold()
    home.journal.resume("t1")
    stored = home.journal.commit(step(paused.replaced(sequence=2), result(2)))
    assert (stored.stop, home.journal.header("t1")) == (None, stored)
    home.journal.stop("t1", hold())
    home.journal.stop("t1", wish())
    stored = home.journal.commit(step(stored.replaced(stop=hold()), result(3)))
    assert (stored.stop, home.journal.header("t1")) == (wish(), stored)
