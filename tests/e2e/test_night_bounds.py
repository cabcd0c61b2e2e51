"""Nights that meet wrong clocks, long breaks, too much of everything, and who retires meanwhile."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.agents.agent import AgentStatus
from opencrab.domain.errors import NotFound, TooLarge
from opencrab.domain.learning.change import Adjustment
from opencrab.domain.learning.evidence import EVIDENCE, STANDING, ClosedEvidence, Evidence
from opencrab.domain.models.routing import Routing
from opencrab.engine.learning import changes
from opencrab.engine.learning.nightly.run import review_agent_now, run_nightly_review
from opencrab.engine.learning.nightly.schedule import NightMessage, send_nightly_learning_reviews
from opencrab.engine.turn.run import Pace
from tests.e2e.house import House
from tests.e2e.nights import (
    APPLY,
    CHAT,
    active,
    breaking,
    drain,
    learner,
    learnt,
    lived,
    mind,
    skill,
)
from tests.saved_evidence import saved_evidence

DAY = 86_400


def test_a_mix_stays_while_its_models_stay_as_they_were(home: House) -> None:
    """The budget allows the better model for a part of the turns; each stays as it was."""
    learner(home, **APPLY, explore=0.1, min_quality=0.3, day_micro_usd=1_000_000)
    home.clock.advance(_until_midnight(home))
    for _ in range(3):
        _mixed_day(home, worse=180, better=20)
        home.clock.advance(DAY)
    _mixed_day(home, worse=150, better=0)
    home.clock.advance(18 * 3_600)
    review_agent_now(home.runtime, "crab", "daily")
    (made,), weights = _changes(home), mind(home).mixes[0].weights
    assert 0.1 < weights["dear"] < 0.9
    shares = {"worse": weights["cheap"], "better": weights["dear"]}
    _mixed_day(home, **{name: round(50 * share) for name, share in shares.items()})
    for _ in range(5):
        home.clock.advance(DAY)
        review_agent_now(home.runtime, "crab", "daily")
        (held,) = _changes(home)
        assert (held.id, held.state.value) == (made.id, "applied")
        _mixed_day(home, **{name: round(200 * share) for name, share in shares.items()})
    # Not what is asked more often, but what becomes worse is a reason, and days later too.
    lived(home, 150, good=False, name="worse")
    home.clock.advance(2 * DAY)
    review_agent_now(home.runtime, "crab", "daily")
    assert _changes(home)[-1].state.value == "superseded"
    assert mind(home).mixes[0].weights.get("dear", 0.0) < weights["dear"]


def test_of_many_models_the_twenty_that_are_asked_most_are_mixed(home: House) -> None:
    learner(home, **APPLY, explore=0.5)
    names = tuple(f"m{number}" for number in range(30))
    home.provider.routing = Routing(
        default="fake:m0", aliases={name: f"fake:{name}" for name in names}, selectable=names
    )
    for name in names:
        lived(home, 25, good=True, model=name, name=name)
    home.clock.advance(DAY)
    review_agent_now(home.runtime, "crab", "daily")
    (mix,) = mind(home).mixes
    assert len(mix.weights) == 20
    assert sum(mix.weights.values()) == pytest.approx(1)


def test_what_was_known_before_a_long_break_is_added_up(home: House) -> None:
    learner(home)
    lived(home, 30, good=True)
    _slept(home)
    home.clock.advance(45 * DAY)
    for number in range(5):
        lived(home, 1, good=True)
        _slept(home)
        assert saved_evidence(home.home.facts, "crab").turns == 31 + number
    assert "2026-01-05" not in [fact.id for fact in home.home.facts.page("crab", EVIDENCE)]


def test_a_clock_that_was_ahead_ends_no_learning(
    home: House, caplog: pytest.LogCaptureFixture
) -> None:
    learner(home)
    active(home, "crab", home.clock.now().day)
    ahead = FakeClock(home.clock.now() + timedelta(days=300))
    wrong = replace(home.runtime, clock=ahead)
    send_nightly_learning_reviews(wrong)
    for _ in range(6):
        lived(home, 2, good=True, at=ahead.now())
        ahead.advance(DAY)
        review_agent_now(wrong, "crab", "daily")
    home.clock.advance(1.5 * DAY)
    assert send_nightly_learning_reviews(home.runtime) == 1
    assert send_nightly_learning_reviews(home.runtime) == 0
    drain(home)
    for number in range(6):
        lived(home, 10, good=True)
        _slept(home)
        assert saved_evidence(home.home.facts, "crab").turns == 12 + 10 * (number + 1)
    assert "which is in the future" in caplog.text
    assert "; using 2026-01-0" in caplog.text


def test_evidence_forgets_what_is_out_of_use_and_stays_of_one_size(home: House) -> None:
    learner(home)
    learnt(home, "good")
    lived(home, 9, good=True, model="old", name="old", given=("good", "gone"))
    for number in range(5):
        lived(home, 1, good=True, name="few", found=tuple(f"m{number}-{i}" for i in range(50)))
        lived(home, 9, good=True, name="many", found=tuple(f"n{number}-{i}" for i in range(50)))
        for part in range(5):
            found = tuple(f"o{number}-{part}-{i}" for i in range(50))
            lived(home, 1, good=True, name=f"more-{part}", found=found)
        _slept(home)
    *days, _ = home.home.facts.page("crab", EVIDENCE)
    assert [len(day.read(Evidence).recalled) for day in days] == [300, 300, 300]
    known = _standing(home)
    assert {key.partition("/")[0] for key in known.evidence.skills} == {"good"}
    assert known.seen["fake:old"] == "2026-01-05"
    for _ in range(5):
        lived(home, 1, good=True, name="later")
        _slept(home)
    known = _standing(home)
    assert len(known.evidence.recalled) == 500
    assert sum(name.startswith("n") for name in known.evidence.recalled) == 250
    home.clock.advance(95 * DAY)
    for _ in range(4):
        lived(home, 1, good=True, name="last")
        _slept(home)
    assert list(_standing(home).evidence.models) == [f"{CHAT}/fake:dear"]
    assert list(_standing(home).seen) == ["fake:dear"]


def test_a_night_that_finds_no_room_is_tried_again_and_not_buried(home: House) -> None:
    learner(home)
    lived(home, 3, good=True)
    home.clock.advance(DAY)
    body = NightMessage(agent="crab", period="daily-2026-01-05").model_dump_json()
    home.runtime.home.nights.send(body, group="crab", deduplication="x")
    delivery = home.runtime.home.nights.receive(visibility_seconds=600, wait_seconds=0)
    assert delivery is not None
    for error in (TooLarge("over 400 KB"), NotFound("a file is gone")):
        with pytest.raises(type(error)):
            run_nightly_review(breaking(home, "facts", "commit", error), delivery, Pace())
    assert home.runtime.home.nights.list_dead_letters(1) == ()
    assert run_nightly_review(home.runtime, delivery, Pace()).value == "finished"


def test_of_an_agent_that_retires_during_its_night_nothing_is_changed(home: House) -> None:
    learner(home, **APPLY)
    learnt(home, "good")
    lived(home, 30, good=True, model="cheap", given=("good",))
    lived(home, 30, good=False, held=("good",))
    home.clock.advance(DAY)

    class Retiring:
        def __getattr__(self, name: str) -> Any:
            if name == "commit":
                agent = home.home.agents.get("crab").agent
                home.home.agents.save(agent.replaced(status=AgentStatus.RETIRED))
            return getattr(home.runtime.home.facts, name)

    facts: Any = Retiring()
    review_agent_now(
        replace(home.runtime, home=replace(home.runtime.home, facts=facts)), "crab", "daily"
    )
    assert (mind(home).mixes, _changes(home)) == ((), [])
    assert skill(home, "good").status == "candidate"


def _until_midnight(house: House) -> float:
    now = house.clock.now()
    midnight = datetime.combine(now.date() + timedelta(days=1), datetime.min.time(), now.tzinfo)
    return (midnight - now).total_seconds()


def _mixed_day(house: House, *, worse: int, better: int) -> None:
    """Turns of now with a model that does well at times, and with one that mostly does."""
    for model, turns, share in (("cheap", worse, 0.3), ("dear", better, 0.95)):
        good = round(turns * share)
        lived(house, good, good=True, model=model)
        lived(house, turns - good, good=False, model=model)


def _slept(house: House) -> None:
    house.clock.advance(DAY)
    review_agent_now(house.runtime, "crab", "daily")


def _changes(house: House) -> list[Adjustment]:
    return list(changes.page_of_adjustments(house.home.facts, "crab"))


def _standing(house: House) -> ClosedEvidence:
    fact = house.home.facts.get("crab", EVIDENCE, STANDING)
    assert fact is not None
    return fact.read(ClosedEvidence)
