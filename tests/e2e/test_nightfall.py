"""Nightfall: who is told that a day is over, how often, and what it costs."""

from dataclasses import replace
from typing import Any

import pytest

from opencrab.domain.errors import Invalid, Unavailable
from opencrab.domain.learning.change import ADJUSTMENT
from opencrab.domain.learning.evidence import EVIDENCE
from opencrab.domain.learning.review_period import NIGHT
from opencrab.domain.skills.skill import SKILL
from opencrab.engine.learning.nightly.run import review_agent_now, run_nightly_review
from opencrab.engine.learning.nightly.schedule import send_nightly_learning_reviews
from opencrab.engine.turn.run import Pace
from opencrab.ports.turn.queue import Delivery, MessageOutcome
from tests.e2e.house import House
from tests.e2e.nights import (
    APPLY,
    QUIET,
    active,
    bodies,
    breaking,
    drain,
    learner,
    learnt,
    lived,
    mind,
    told,
)


def test_nights_fall_once_for_those_who_were_active_and_cost_the_others_nothing(
    home: House,
) -> None:
    for number in range(3):
        active(home, f"agent-{number}", 5)
    active(home, "agent-1", 10)
    for number in range(1_000):
        home.agent(f"idle-{number:04d}", QUIET)
    home.clock.advance(9 * 3_600)
    assert send_nightly_learning_reviews(home.runtime) == 0
    home.clock.advance(24 * 3_600)
    home.calls.clear()
    assert send_nightly_learning_reviews(home.runtime) == 3
    assert (home.calls["tallies.active_agents"], home.calls["facts.get"]) == (1, 1)
    home.calls.clear()
    assert send_nightly_learning_reviews(home.runtime) == 0
    assert dict(home.calls) == {"facts.get": 1}
    # Switched off for days: each missed day is made up for, and the week once for each agent.
    home.clock.advance(6 * 86_400)
    assert send_nightly_learning_reviews(home.runtime) == 1 + 3
    found = sorted(bodies(home))
    assert sum("weekly-2026-W02" in body for body in found) == 3
    assert sum("daily-2026-01-10" in body for body in found) == 1


def test_nightfall_goes_on_where_a_crash_left_it(home: House) -> None:
    for number in range(250):
        active(home, f"agent-{number:03d}", 5)
    send_nightly_learning_reviews(home.runtime)
    home.clock.advance(33 * 3_600)
    with pytest.raises(Unavailable):
        send_nightly_learning_reviews(
            breaking(home, "nights", "send_batch", Unavailable("a crash"), after=2)
        )
    assert send_nightly_learning_reviews(home.runtime) == 150
    assert len(set(bodies(home))) == 250
    assert send_nightly_learning_reviews(home.runtime) == 0


def test_what_cannot_be_looked_at_harms_nobody(home: House) -> None:
    queue = home.runtime.home.nights
    for place, body in enumerate(("{", '{"v":1,"agent":"x","period":"daily-2026-13-01"}')):
        queue.send(body, group="x", deduplication=str(place))
    queue.send('{"v":1,"agent":"gone","period":"daily-2026-01-05"}', group="x", deduplication="g")
    assert drain(home) == 3
    assert len(queue.list_dead_letters(10)) == 2
    assert home.home.facts.page("gone", NIGHT) == ()
    learner(home)
    with pytest.raises(Invalid, match="not a valid period"):
        review_agent_now(home.runtime, "crab", "hourly")
    home.clock.advance(86_400)
    looked = review_agent_now(home.runtime, "crab", "daily")
    assert (looked.turns, looked.adjustments, looked.junk.rate) == (0, (), None)
    assert "Not enough data: no turn has been evaluated yet." in told(home, "2026-01-05")
    assert "評価できたターンがまだありません" in told(home, "2026-01-05.ja")
    given_back = run_nightly_review(
        home.runtime, Delivery("", "", "r", 1), Pace(stopping=lambda: True)
    )
    assert given_back is MessageOutcome.CONTINUE


@pytest.mark.parametrize("place", range(1, 7))
def test_two_functions_at_one_night_of_an_agent_come_to_the_same(house: House, place: int) -> None:
    """The queue of nights may deliver a message twice, to functions that run side by side."""
    for agent_id in ("calm", "crab"):
        learner(house, agent_id, **APPLY)
        for name in ("good", "bad"):
            learnt(house, name, agent_id)
        one: dict[str, Any] = {"agent_id": agent_id}
        lived(house, 30, good=True, model="cheap", given=("good",), held=("bad",), **one)
        lived(house, 30, good=False, held=("good",), given=("bad",), **one)
    house.clock.advance(86_400)
    review_agent_now(house.runtime, "calm", "daily")
    facts: Any = house.runtime.home.facts
    commits = list[int]()

    class Joined:
        """Documents; before one of its writes another function reviews the same night."""

        def __getattr__(self, name: str) -> Any:
            return getattr(facts, name)

        def commit(self, *given: Any, **named: Any) -> None:
            commits.append(1)
            if len(commits) == place:
                review_agent_now(house.runtime, "crab", "daily")
            facts.commit(*given, **named)

    joined: Any = Joined()
    runtime = replace(house.runtime, home=replace(house.runtime.home, facts=joined))
    review_agent_now(runtime, "crab", "daily")
    assert len(commits) >= place
    for kind in (ADJUSTMENT, EVIDENCE, SKILL):
        crab, calm = (runtime.home.facts.page(each, kind, limit=100) for each in ("crab", "calm"))
        assert [(one.id, one.body) for one in crab] == [(one.id, one.body) for one in calm]
    assert mind(house, "crab") == mind(house, "calm")
    assert told(house, "2026-01-05") == told(house, "2026-01-05", "calm").replace("calm", "crab")
