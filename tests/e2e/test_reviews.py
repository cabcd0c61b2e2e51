"""Reviews: skills are decided on by day too, as soon as enough sessions have begun."""

from dataclasses import replace
from typing import Any

import pytest

from opencrab.domain.agents.agent import AgentStatus
from opencrab.domain.errors import NotFound, Unavailable
from opencrab.domain.learning.change import ADJUSTMENT, Adjustment, AdjustmentState
from opencrab.domain.learning.evidence import EVIDENCE
from opencrab.domain.learning.review_period import NIGHT
from opencrab.domain.learning.settings import TrialSettings
from opencrab.domain.money.budget import INSTALLATION
from opencrab.domain.skills.skill import SKILL
from opencrab.domain.value import Language
from opencrab.engine.learning import changes, feedback, undo
from opencrab.engine.learning.nightly.run import review_agent_now, run_nightly_review
from opencrab.engine.learning.nightly.schedule import (
    current_review_period,
    send_learning_reviews_by_sessions,
)
from opencrab.engine.runtime import Rules
from opencrab.engine.turn.admission import admit_turns_of_message
from opencrab.engine.turn.run import Pace
from tests.crash.errand import RICH
from tests.crash.outside import Reply
from tests.crash.scenarios import message
from tests.e2e.conftest import Build
from tests.e2e.house import House
from tests.e2e.nights import (
    APPLY,
    active,
    bodies,
    breaking,
    drain,
    learner,
    learnt,
    lived,
    mind,
    skill,
    sleep,
    told,
)
from tests.saved_evidence import saved_evidence

FIRST = "review-2026-01-05-1"


def test_enough_sessions_in_a_day_lead_to_one_review_and_a_decision_on_that_day(
    home: House,
) -> None:
    """Forty short talks with a skill on trial: thumbs up wherever the skill was given."""
    _every(home, 40)
    learner(home, **APPLY, language=Language.JA)
    learnt(home, "harbours", description="harbour towns and their ferries")
    home.scripts["dear"] = (Reply("It leaves at nine."),)
    sent = 0
    for number in range(40):
        assert (sent, skill(home, "harbours").status) == (0, "candidate")
        home.clock.advance(600)
        home.provider.seen.clear()
        _talk(home, f"s{number}", "Which ferries leave the harbour towns?")
        sent += send_learning_reviews_by_sessions(home.runtime)
    assert (sent, drain(home, twice=True)) == (1, 1)
    (made,) = _changes(home)
    assert (made.subject, made.after, made.by) == ("harbours", {"status": "active"}, FIRST)
    assert made.at.date().isoformat() == "2026-01-05"
    assert made.evidence["turns"] == 40
    kept = _kept(home)
    assert (kept[EVIDENCE], mind(home).mixes) == ([], ())
    with pytest.raises(NotFound):
        told(home, "2026-01-05")
    _talk(home, "s39", "And the next one?", "m2")
    home.clock.advance(3_600)
    assert (send_learning_reviews_by_sessions(home.runtime), drain(home)) == (0, 0)
    # The night keeps what the day told, tells of what the review did, and does nothing again.
    sleep(home, hours=0)
    sleep(home, hours=26)
    assert saved_evidence(home.home.facts, "crab").turns == 41
    assert _changes(home) == [made]
    change = "skill `harbours`: on trial → active (applied). Reason: it helps; +"
    assert change in told(home, "2026-01-05")
    assert "スキル `harbours`: 試用中 → 有効(実施済み)" in told(home, "2026-01-05.ja")


def test_what_counts_is_the_first_call_of_an_agent_in_a_session(build: Build) -> None:
    house = build(replace(RICH, trials=TrialSettings(review_sessions=1)))
    learner(house)
    house.scripts["dear"] = (Reply(calls=(("ring_bell", {"key": "a"}),)), Reply("Yes."))
    assert current_review_period(house.runtime, "crab").number == 0
    for place in ("a", "a", "b", "a", "b"):
        house.clock.advance(60)
        _talk(house, place, "Is it open?", f"{house.clock.now():%M}")
        house.clock.advance(60)
    assert house.provider.bill.received == 2 * 5
    assert current_review_period(house.runtime, "crab").number == 2
    assert send_learning_reviews_by_sessions(house.runtime) == 1
    assert send_learning_reviews_by_sessions(house.runtime) == 0
    _talk(house, "c", "Is it open?")
    assert send_learning_reviews_by_sessions(house.runtime) == 1
    assert sum("review-2026-01-05-" in body for body in bodies(house)) == 2
    house.clock.advance(86_400)
    assert (
        current_review_period(house.runtime, "crab").number,
        send_learning_reviews_by_sessions(house.runtime),
    ) == (0, 0)


def test_a_turn_that_words_a_report_begins_no_session(home: House) -> None:
    _every(home, 1)
    agent = learner(home, worded=True)
    home.scripts["scribe"] = (Reply("I did well."),)
    home.home.agents.save(agent.replaced(model="fake:scribe"))
    lived(home, 12, good=True)
    home.clock.advance(86_400)
    review_agent_now(home.runtime, "crab", "daily")
    home.work()
    assert home.home.tallies.active_agents("2026-01-06") == ("crab",)
    assert current_review_period(home.runtime, "crab").number == 0


def test_only_who_was_active_is_looked_at_and_nobody_where_it_is_off(home: House) -> None:
    _every(home, 1)
    for number in range(200):
        home.agent(f"idle-{number:03d}", ())
    home.calls.clear()
    assert send_learning_reviews_by_sessions(home.runtime) == 0
    assert dict(home.calls) == {"tallies.active_agents": 1}
    for name in ("hana", "ken"):
        active(home, name, 5)
    active(home, "mika", 5, opens=True)
    home.calls.clear()
    assert send_learning_reviews_by_sessions(home.runtime) == 1
    assert dict(home.calls) == {
        "tallies.active_agents": 1,
        "tallies.between": 3,
        "facts.get": 1,
        "facts.commit": 1,
        "nights.send": 1,
    }
    home.calls.clear()
    assert send_learning_reviews_by_sessions(home.runtime) == 0
    assert home.calls["facts.get"] == 1
    _every(home, 0)
    home.calls.clear()
    assert (send_learning_reviews_by_sessions(home.runtime), dict(home.calls)) == (0, {})


def test_a_review_that_fails_at_any_step_comes_to_the_same_when_it_is_repeated(
    home: House,
) -> None:
    _every(home, 1)
    _tried(home, "calm")
    assert (send_learning_reviews_by_sessions(home.runtime), drain(home)) == (1, 1)
    calm = _kept(home, "calm")
    assert len(calm[ADJUSTMENT]) == 2
    _tried(home)
    crash, crashes = Unavailable("a crash"), 0
    for port, method in (("nights", "send"), ("facts", "commit")):
        assert send_learning_reviews_by_sessions(breaking(home, port, method, crash)) == 0
    with pytest.raises(Unavailable):
        send_learning_reviews_by_sessions(breaking(home, "tallies", "active_agents", crash))
    assert send_learning_reviews_by_sessions(home.runtime) == 1
    delivery = home.home.nights.receive(visibility_seconds=600, wait_seconds=0)
    assert delivery is not None
    while True:
        try:
            run_nightly_review(breaking(home, "facts", "commit", crash, after=1), delivery, Pace())
            break
        except Unavailable:
            crashes += 1
    assert crashes == 3
    assert _kept(home) == calm
    run_nightly_review(home.runtime, delivery, Pace())
    drain(home, twice=True)
    assert _kept(home) == calm


def test_by_hand_a_review_is_made_once_for_its_sessions_and_foreseen_without_a_trace(
    home: House,
) -> None:
    _tried(home)
    before = _kept(home)
    foreseen = review_agent_now(home.runtime, "crab", "review", dry_run=True)
    assert (foreseen.period, foreseen.dry_run, foreseen.turns) == (FIRST[:-1] + "0", True, 60)
    assert [each.subject for each in foreseen.adjustments] == ["bad", "good"]
    assert _kept(home) == before
    assert home.home.facts.page("crab", NIGHT) == ()
    looked = review_agent_now(home.runtime, "crab", "review")
    assert looked.adjustments == tuple(_changes(home))
    assert (looked.report, looked.standstills, len(looked.adjustments)) == ((), (), 2)
    assert skill(home, "bad").status == "archived"
    again = review_agent_now(home.runtime, "crab", "review")
    assert (again.done_before, again.adjustments) == (True, looked.adjustments)


def test_a_night_that_comes_later_goes_by_what_the_review_knew(home: House) -> None:
    """It is about a day with less: what it lacks is no news of what an owner brought back."""
    _tried(home)
    home.clock.advance(86_400)
    lived(home, 40, good=True, given=("good",))
    lived(home, 40, good=False, held=("good",))
    review_agent_now(home.runtime, "crab", "review")
    promoted = next(each for each in _changes(home) if each.subject == "good")
    assert promoted.evidence["turns"] == 140
    undo.undo_adjustment(home.runtime, "crab", promoted.id, "owner")
    home.clock.advance(9 * 3_600)
    review_agent_now(home.runtime, "crab", "daily")
    assert skill(home, "good").status == "candidate"
    assert {each.state for each in _changes(home) if each.subject == "good"} == {
        AdjustmentState.UNDONE
    }


@pytest.mark.parametrize("frozen", ["crab", INSTALLATION, ""])
def test_of_who_is_frozen_or_retired_nothing_is_changed(home: House, frozen: str) -> None:
    _tried(home)
    if frozen:
        home.home.switches.set(frozen, frozen=True)
    else:
        agent = home.home.agents.get("crab").agent
        home.home.agents.save(agent.replaced(status=AgentStatus.RETIRED))
    before = _kept(home)
    assert review_agent_now(home.runtime, "crab", "review").adjustments == ()
    assert _kept(home) == before


def _every(house: House, sessions: int) -> None:
    trials = TrialSettings(review_sessions=sessions)
    rules: Rules = replace(house.runtime.rules, trials=trials)
    house.runtime = replace(house.runtime, rules=rules)


def _talk(house: House, session_id: str, text: str, source_id: str = "m1") -> None:
    """One turn in a session of its own or an old one, and what the owner thinks of it."""
    house.session(house.home.agents.get("crab").agent, id=session_id)
    (turn,) = admit_turns_of_message(house.runtime, session_id, message(text, source_id))
    house.work()
    given = any("Do it well." in str(each.turns) for each in house.provider.seen)
    thumbs: feedback.Thumbs = "up" if given else "down"
    feedback.give_feedback(
        house.runtime, turn.id, by="owner", thumbs=thumbs, remark="", key=turn.id
    )


def _tried(house: House, agent_id: str = "crab") -> None:
    """A day so far with a skill that helps and one that harms, and one session."""
    learner(house, agent_id, **APPLY)
    for name in ("good", "bad"):
        learnt(house, name, agent_id)
    one: dict[str, Any] = {"agent_id": agent_id}
    lived(house, 30, good=True, given=("good",), held=("bad",), **one)
    lived(house, 30, good=False, held=("good",), given=("bad",), **one)
    active(house, agent_id, house.clock.now().day, opens=True)


def _changes(house: House) -> list[Adjustment]:
    return list(changes.page_of_adjustments(house.home.facts, "crab"))


def _kept(house: House, agent_id: str = "crab") -> dict[str, Any]:
    """Everything that reviews write, and the evidence, which they leave."""
    facts = house.home.facts
    return {
        kind: [(fact.id, fact.body) for fact in facts.page(agent_id, kind, limit=100)]
        for kind in (ADJUSTMENT, EVIDENCE, SKILL)
    } | {"mind": mind(house, agent_id).model_dump()}
