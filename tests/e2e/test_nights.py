"""Nights: what agents learn from their days, what follows from it, and how it is taken back."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from opencrab.domain.errors import (
    Conflict,
    Invalid,
    NotFound,
    TooLarge,
    Unavailable,
)
from opencrab.domain.learning.change import ADJUSTMENT, Adjustment, AdjustmentState
from opencrab.domain.learning.evidence import EVIDENCE, STANDING, ClosedEvidence
from opencrab.domain.learning.signals import SIGNALS
from opencrab.domain.memory.memory import EXPERIENCE
from opencrab.domain.outcome import Outcome
from opencrab.domain.skills.skill import BY_EVIDENCE, SKILL, SkillStatus
from opencrab.domain.value import Language
from opencrab.engine.learning import changes as learned
from opencrab.engine.learning import experiments, feedback, undo
from opencrab.engine.learning.changes import LearningChange
from opencrab.engine.learning.nightly.run import review_agent_now
from tests.crash.outside import Reply
from tests.e2e.house import House
from tests.e2e.nights import (
    APPLY,
    CHAT,
    active,
    breaking,
    learner,
    learnt,
    lived,
    mind,
    remark,
    skill,
    sleep,
    told,
)
from tests.saved_evidence import saved_evidence


def test_a_skill_that_helps_is_promoted_and_one_that_harms_retired_once(house: House) -> None:
    home = house
    _tried(home)
    looked = review_agent_now(home.runtime, "crab", "daily", dry_run=True)
    assert [(each.subject, each.after) for each in looked.adjustments] == [
        ("bad", {"status": "archived"}),
        ("good", {"status": "active"}),
    ]
    assert skill(home, "good").status == "candidate"
    review_agent_now(home.runtime, "crab", "daily")
    good, bad = skill(home, "good"), skill(home, "bad")
    assert (good.status, bad.status, bad.retired_by) == ("active", "archived", BY_EVIDENCE)
    assert good.effectiveness is not None
    assert good.effectiveness.low > 0
    assert [(each.name, each.on_trial) for each in mind(home).skills] == [("good", False)]
    before = _kept(home)
    again = review_agent_now(home.runtime, "crab", "daily")
    assert (again.done_before, len(again.adjustments)) == (True, 2)
    sleep(home, hours=9, twice=True)
    assert _kept(home) == before


def test_the_report_answers_in_both_languages(home: House) -> None:
    _tried(home, language=Language.JA)
    lived(home, 4, good=None, found=("m1", "m2"), useful=("m2",), at=_yesterday(home))
    looked = review_agent_now(home.runtime, "crab", "daily")
    assert looked.report == (
        "reports/learning/2026-01-05.md",
        "reports/learning/2026-01-05.ja.md",
    )
    assert (looked.turns, looked.judged, looked.junk.rate) == (64, 60, 0.5)
    english, japanese = told(home, "2026-01-05"), told(home, "2026-01-05.ja")
    for text in (
        "No model was called",
        "The goal is 70 %",
        "`fake:dear`: 50 % (30 to 70), 60 turns: below the goal",
        "skill `good`: on trial → active (applied). Reason: it helps; +39 points (19 to 59)",
        "a junk rate of 50 %",
        "conversation/chat: unchanged. Reason:",
    ):
        assert text in english
    for text in ("はい。" if looked.spent_micro_usd else "費用はかかっていません", "目標は 70 %"):
        assert text in japanese
    assert (
        "スキル `good`: 試用中 → 有効(実施済み)。理由: 効果がある。+39 ポイント(19〜59)" in japanese
    )
    assert "不要率 50 %" in japanese
    assert "`m1`" not in english + japanese
    assert home.home.files.info("crab", looked.report[0]) is not None


def test_a_mix_is_proposed_once_and_applied_only_where_the_owner_lets_it(home: House) -> None:
    learner(home)
    _two_models(home)
    home.clock.advance(86_400)
    review_agent_now(home.runtime, "crab", "daily")
    proposed = _changes(home)
    assert [(each.subject, each.state) for each in proposed] == [(CHAT, AdjustmentState.PROPOSED)]
    assert proposed[0].after == {"weights": {"cheap": 1.0}}
    assert mind(home).mixes == ()
    _two_models(home)
    home.clock.advance(86_400)
    looked = review_agent_now(home.runtime, "crab", "daily")
    assert looked.standstills[0].reason == "proposed"
    assert _changes(home) == proposed
    _let(home, **APPLY)
    home.clock.advance(86_400)
    _two_models(home)
    home.clock.advance(86_400)
    review_agent_now(home.runtime, "crab", "daily")
    assert [each.state.value for each in _changes(home)] == ["applied", "superseded"]
    assert mind(home).mixes[0].weights == {"cheap": 1.0}
    with pytest.raises(Conflict, match=r"superseded.*came later"):
        undo.undo_adjustment(home.runtime, "crab", proposed[0].id, "owner")


def test_a_mix_that_fell_gives_way_and_an_undone_one_is_not_made_again(home: House) -> None:
    learner(home, **APPLY)
    _two_models(home)
    home.clock.advance(86_400)
    review_agent_now(home.runtime, "crab", "daily")
    assert mind(home).mixes[0].weights == {"cheap": 1.0}
    home.clock.advance(86_400)
    lived(home, 240, good=False, model="cheap")
    home.clock.advance(86_400)
    (made,) = review_agent_now(home.runtime, "crab", "daily").adjustments
    assert (made.state.value, made.by) == ("applied", "daily-2026-01-07")
    assert mind(home).mixes[0].weights == {"dear": 1.0}
    for each in (made, _changes(home)[-1]):
        undo.undo_adjustment(home.runtime, "crab", each.id, "owner")
    assert mind(home).mixes == ()
    # Days on which it did better than ever change nothing so soon.
    lived(home, 1_000, good=True, model="cheap")
    home.clock.advance(86_400)
    told_again = review_agent_now(home.runtime, "crab", "daily").standstills
    assert ([each.reason for each in told_again], mind(home).mixes) == (["taken_back"], ())


def test_what_was_changed_is_undone_unless_something_changed_it_since(home: House) -> None:
    _tried(home)
    review_agent_now(home.runtime, "crab", "daily")
    bad, good = _changes(home, "bad")[0], _changes(home, "good")[0]
    assert (
        undo.undo_adjustment(home.runtime, "crab", bad.id, "owner").state is AdjustmentState.UNDONE
    )
    assert undo.undo_adjustment(home.runtime, "crab", bad.id, "owner").ended_by == "owner"
    undo.undo_adjustment(home.runtime, "crab", good.id, "owner")
    assert (skill(home, "bad").status, skill(home, "good").status) == ("candidate", "candidate")
    assert [each.on_trial for each in mind(home).skills] == [True, True]
    # What an owner brought back is not sent away again on the very same evidence.
    home.clock.advance(86_400)
    assert review_agent_now(home.runtime, "crab", "daily").adjustments == ()
    stopped = experiments.end_experiment(home.runtime, "crab", "skill:good", "owner")
    assert (stopped.reason, skill(home, "good").status) == ("stopped", "active")
    over = good.replaced(state=AdjustmentState.SUPERSEDED)
    change = LearningChange(over, was=AdjustmentState.APPLIED)
    with pytest.raises(Conflict, match="no longer applied"):
        learned.store_adjustment(home.home.facts, "crab", change)
    with pytest.raises(NotFound):
        undo.undo_adjustment(home.runtime, "crab", "nothing", "owner")
    home.clock.advance(1)
    with pytest.raises(Conflict, match="not on trial"):
        experiments.end_experiment(home.runtime, "crab", "skill:good", "owner")


def test_a_week_is_told_when_it_is_over(home: House) -> None:
    _tried(home)
    for _ in range(6):
        lived(home, 2, good=True)
        active(home, "crab", home.clock.now().day)
        sleep(home)
    sleep(home, twice=True)
    weekly, japanese = told(home, "2026-W02"), told(home, "2026-W02.ja")
    assert weekly.startswith(
        "# crab: learning report for week 2026-W02\n\n72 turns, 72 of them evaluated"
    )
    assert "skill `bad`: on trial → retired (applied). Reason: it is harmful" in weekly
    assert weekly.count("skill `good`") == 1
    assert japanese.startswith("# crab の学習レポート 2026-W02 週\n\n72 ターン。")
    assert review_agent_now(home.runtime, "crab", "weekly").done_before
    assert len(_changes(home)) == 2


def test_nothing_that_is_pinned_moves(home: House) -> None:
    _tried(home, **APPLY)
    _two_models(home, at=_yesterday(home))
    experiments.pin_learned_subject(home.runtime, "crab", "skill:bad")
    with pytest.raises(NotFound):
        experiments.pin_learned_subject(home.runtime, "crab", "skill:none")
    with pytest.raises(Invalid):
        experiments.pin_learned_subject(home.runtime, "crab", "memory:x")
    experiments.pin_learned_subject(home.runtime, "crab", "skill:good")
    experiments.unpin_learned_subject(home.runtime, "crab", "skill:good")
    facts, kept = home.home.facts, mind(home).replaced(pinned=("models:" + CHAT, "skill:bad"))
    stored = facts.get("crab", "mind", "mind")
    assert stored is not None
    facts.commit(stored.with_body(kept))
    looked = review_agent_now(home.runtime, "crab", "daily")
    assert [each.subject for each in looked.adjustments] == ["good"]
    assert [each.reason for each in looked.standstills] == ["pinned"]
    assert (mind(home).mixes, skill(home, "bad").status) == ((), "candidate")


def test_an_experiment_with_models_is_stopped_pinned_and_begun_again(home: House) -> None:
    learner(home, explore=0.2, **APPLY)
    for model, good, bad in (("cheap", 30, 10), ("dear", 25, 15)):
        lived(home, good, good=True, model=model)
        lived(home, bad, good=False, model=model)
    home.clock.advance(86_400)
    review_agent_now(home.runtime, "crab", "daily")
    mixed = mind(home).mixes
    assert set(mixed[0].weights) == {"cheap", "dear"}
    stopped = experiments.end_experiment(home.runtime, "crab", "models:" + CHAT, "owner")
    assert stopped.after == {"weights": {"cheap": 1.0}}
    assert mind(home).pinned == ("models:" + CHAT,)
    assert [each.state.value for each in _changes(home)] == ["applied", "superseded"]
    undo.undo_adjustment(home.runtime, "crab", stopped.id, "owner")
    assert (mind(home).mixes, mind(home).pinned) == (mixed, ())


def test_a_place_that_is_free_goes_to_the_skill_that_waits_the_longest(home: House) -> None:
    _tried(home)
    rules = home.runtime.rules
    trials = rules.trials.replaced(candidates=2)
    home.runtime = replace(home.runtime, rules=replace(rules, trials=trials))
    for number in range(3):
        at = home.clock.now() - timedelta(hours=number)
        learnt(home, f"waits-{number}", status=SkillStatus.DISABLED, waits=True, created_at=at)
    review_agent_now(home.runtime, "crab", "daily")
    standing = [skill(home, f"waits-{number}").status for number in range(3)]
    assert standing == ["disabled", "candidate", "candidate"]


def test_words_that_changed_are_measured_anew(home: House) -> None:
    _tried(home)
    stored = home.home.facts.get("crab", SKILL, "bad")
    assert stored is not None
    better = skill(home, "bad").replaced(worded_at=home.clock.now() - timedelta(hours=1))
    home.home.facts.commit(stored.with_body(better))
    review_agent_now(home.runtime, "crab", "daily")
    assert (skill(home, "bad").status, skill(home, "good").status) == ("candidate", "active")


def test_days_are_closed_once_and_what_is_said_late_of_open_ones_counts(home: House) -> None:
    _tried(home)
    at = home.clock.now()
    for number in range(5):
        review_agent_now(home.runtime, "crab", "daily")
        at = home.clock.now()
        lived(home, 1, good=True if number < 4 else None, name="late")
        home.clock.advance(86_400)
    review_agent_now(home.runtime, "crab", "daily")
    facts = home.home.facts.page("crab", EVIDENCE)
    assert [fact.id for fact in facts] == ["2026-01-08", "2026-01-09", "2026-01-10", STANDING]
    standing = facts[-1].read(ClosedEvidence)
    assert (standing.closed_to, standing.evidence.turns) == ("2026-01-07", 62)
    before = saved_evidence(home.home.facts, "crab")
    assert (before.turns, before.judged) == (65, 64)
    # A day later somebody says what that one turn was worth, once more, and at last otherwise.
    for number, outcome in enumerate((Outcome.SUCCESS, Outcome.SUCCESS, Outcome.FAILURE)):
        remark(home, f"late-{at:%d%H%M%S}-0", outcome, number, at)
    lived(home, 1, good=True)
    home.clock.advance(86_400)
    review_agent_now(home.runtime, "crab", "daily")
    after = saved_evidence(home.home.facts, "crab")
    assert (after.turns, after.judged) == (66, 66)
    assert after.models[f"{CHAT}/fake:dear"].quality.total == 30 + 4 + 1


@pytest.mark.parametrize(("days", "crashes_met", "changes"), [(30, 6, 3), (0, 6, 2)])
def test_a_night_that_fails_at_any_write_comes_to_the_same_when_it_is_repeated(
    home: House, days: int, crashes_met: int, changes: int
) -> None:
    for agent_id in ("calm", "crab"):
        learner(home, agent_id, **APPLY)
        for name in ("good", "bad"):
            tried = home.clock.now() - timedelta(days=days)
            learnt(home, name, agent_id, updated_at=tried)
        one: dict[str, Any] = {"agent_id": agent_id}
        lived(home, 30, good=True, model="cheap", given=("good",), held=("bad",), **one)
        lived(home, 30, good=False, held=("good",), given=("bad",), **one)
    home.clock.advance(86_400)
    review_agent_now(home.runtime, "calm", "daily")
    crash, crashes = Unavailable("a crash"), 0
    while True:
        try:
            review_agent_now(breaking(home, "facts", "commit", crash, after=1), "crab", "daily")
            break
        except Unavailable:
            crashes += 1
    assert crashes == crashes_met
    assert _kept(home, "crab") == _kept(home, "calm")
    assert len(_kept(home)[ADJUSTMENT]) == changes
    assert told(home, "2026-01-05") == told(home, "2026-01-05", "calm").replace("calm", "crab")


def test_one_model_and_nothing_but_failures_change_nothing(home: House) -> None:
    learner(home, **APPLY)
    home.provider.routing = home.provider.routing.replaced(selectable=("dear",))
    lived(home, 60, good=False)
    home.clock.advance(86_400)
    looked = review_agent_now(home.runtime, "crab", "daily")
    assert [each.reason for each in looked.standstills] == ["one_model"]
    home.provider.routing = home.provider.routing.replaced(selectable=())
    lived(home, 60, good=False)
    home.clock.advance(86_400)
    looked = review_agent_now(home.runtime, "crab", "daily")
    assert [each.reason for each in looked.standstills] == ["no_models"]
    home.provider.routing = home.provider.routing.replaced(selectable=("cheap", "dear"))
    agent = home.home.agents.get("crab").agent
    home.home.agents.save(agent.replaced(llm=agent.llm.replaced(private=True)))
    _two_models(home)
    home.clock.advance(86_400)
    looked = review_agent_now(home.runtime, "crab", "daily")
    assert [each.reason for each in looked.standstills] == ["no_models"]
    assert (mind(home).mixes, _changes(home)) == ((), [])


def test_a_full_workspace_keeps_no_night_from_its_end(home: House) -> None:
    _tried(home)
    full = breaking(home, "files", "write", TooLarge("the workspace is full"))
    looked = review_agent_now(full, "crab", "daily")
    assert (looked.report, looked.problem) == ((), "the workspace is full")
    assert skill(home, "good").status == "active"
    assert review_agent_now(home.runtime, "crab", "daily").done_before


def test_real_turns_and_what_people_say_of_them_are_learned_from(home: House) -> None:
    """Two days of talk with a skill on trial: thumbs up wherever the skill was given."""
    learner(home)
    home.session(home.home.agents.get("crab").agent)
    learnt(home, "harbours", description="harbour towns and their ferries", agent_id="crab")
    home.scripts["dear"] = (Reply("It leaves at nine."),)
    for number in range(40):
        home.clock.advance(1_900)
        home.provider.seen.clear()
        (turn,) = home.say("Which ferries leave the harbour towns?", f"m{number}")
        home.work()
        given = any("Do it well." in str(each.turns) for each in home.provider.seen)
        thumbs: feedback.Thumbs = "up" if given else "down"
        feedback.give_feedback(
            home.runtime, turn.id, by="owner", thumbs=thumbs, remark="", key=turn.id
        )
    assert len(home.home.facts.page("crab", SIGNALS, limit=100)) == 40
    assert len(home.home.facts.page("crab", EXPERIENCE, limit=100)) == 40
    sleep(home, hours=0)
    sleep(home, hours=24)
    sleep(home, hours=24)
    assert skill(home, "harbours").status == "active"
    report = told(home, "2026-01-05")
    assert "skill `harbours`: on trial → active (applied). Reason: it helps; +38 points" in report
    assert "Yes: 0.0" in report
    assert "Yes: 0.0" in told(home, "2026-01-06")


def _tried(house: House, **aim: Any) -> None:
    """A day with a skill that helps and one that harms."""
    learner(house, **aim)
    learnt(house, "good")
    learnt(house, "bad")
    lived(house, 30, good=True, given=("good",), held=("bad",))
    lived(house, 30, good=False, held=("good",), given=("bad",))
    house.clock.advance(86_400)


def _two_models(house: House, **changes: Any) -> None:
    """A day on which the cheaper model does better."""
    lived(house, 60, good=True, model="cheap", **changes)
    lived(house, 30, good=True, model="dear", **changes)
    lived(house, 30, good=False, model="dear", **changes)


def _yesterday(house: House) -> Any:
    return house.clock.now() - timedelta(days=1)


def _let(house: House, **aim: Any) -> None:
    agent = house.home.agents.get("crab").agent
    llm = agent.llm.replaced(aim=agent.llm.aim.replaced(**aim))
    house.home.agents.save(agent.replaced(llm=llm))


def _changes(house: House, subject: str | None = None) -> list[Adjustment]:
    found = learned.page_of_adjustments(house.home.facts, "crab")
    return [each for each in found if subject in {None, each.subject}]


def _kept(house: House, agent_id: str = "crab") -> dict[str, Any]:
    """Everything that nights write, without what tells of retries."""
    facts = house.home.facts
    return {
        kind: [(fact.id, fact.body) for fact in facts.page(agent_id, kind, limit=100)]
        for kind in (ADJUSTMENT, EVIDENCE, SKILL)
    } | {"mind": mind(house, agent_id).model_dump()}
