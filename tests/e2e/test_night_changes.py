"""Changes on evidence, whoever made them: watched, taken back, followed by an owner, or let be."""

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from opencrab.domain.agents.agent import Agent, AgentStatus
from opencrab.domain.errors import Conflict, NotFound
from opencrab.domain.insight.recommendations import Focus
from opencrab.domain.learning.change import ADJUSTMENT, Adjustment, AdjustmentState
from opencrab.domain.learning.review_period import ReviewResult
from opencrab.domain.models.routing import Use
from opencrab.domain.models.traffic_split import Mix
from opencrab.domain.money.budget import INSTALLATION
from opencrab.domain.skills.skill import SKILL, SkillStatus
from opencrab.domain.usage.ledger import Grouping, Period
from opencrab.engine.insight.experiments import experiments_for_insight
from opencrab.engine.insight.llm_analytics import llm_analytics
from opencrab.engine.learning import changes as learned
from opencrab.engine.learning import experiments, undo
from opencrab.engine.learning.nightly.run import review_agent_now
from opencrab.engine.learning.proposals import (
    find_followed_learning_proposal,
    follow_learning_proposal,
)
from tests.crash.outside import Reply
from tests.e2e.house import House
from tests.e2e.nights import APPLY, CHAT, learner, learnt, lived, mind, served, skill, told

APPLIED, PROPOSED = AdjustmentState.APPLIED, AdjustmentState.PROPOSED
OPTIMIZE = {"name": "optimize_model_selection", "arguments": {"apply_immediately": True}}


def test_what_an_agent_applied_itself_gives_way_at_night_when_quality_falls(
    home: House,
) -> None:
    made = _applied_by_the_agent(home)
    home.clock.advance(86_400)
    lived(home, 240, good=False, model="cheap")
    home.clock.advance(86_400)
    (anew,) = _night(home).adjustments
    assert (anew.state, anew.by, anew.before) == (APPLIED, "daily-2026-01-07", made.after)
    assert mind(home).mixes[0].weights == anew.after["weights"] == {"dear": 1.0}
    over = learned.find_adjustment(home.home.facts, "crab", made.id)
    assert (over.state, over.ended_by) == (AdjustmentState.SUPERSEDED, anew.id)
    assert "cheap 100 % → dear 100 % (applied)" in told(home, "2026-01-07")


def test_a_model_that_has_no_answers_any_more_is_worth_nothing(home: House) -> None:
    _applied_by_the_agent(home)
    failing: dict[str, Any] = {"good": None, "served": (served("cheap", failed=1),)}
    lived(home, 5, name="some", **failing)
    home.clock.advance(86_400)
    _night(home)
    (shown,) = experiments_for_insight(home.runtime, "crab").items[0].models
    assert shown.quality is not None
    assert shown.quality.n == 65
    assert shown.quality.mean == pytest.approx(60 / 65)
    assert "`fake:cheap`: 92 % (" in told(home, "2026-01-06")
    known = llm_analytics(
        home.runtime, "crab", Period.LAST_WEEK, Grouping.MODEL, Focus.ALL
    ).analysis
    assert known.quality_by_model["fake:cheap"] == shown.quality
    lived(home, 240, name="all", **failing)
    home.clock.advance(86_400)
    assert [each.after for each in _night(home).adjustments] == [{"weights": {"dear": 1.0}}]


def test_a_mix_that_tries_out_is_watched_for_a_day_unless_its_owner_allows_less(
    home: House,
) -> None:
    """Splits follow each night (ADR 0058); only within a day do drawn shares not change again."""
    first = _tried_out(home)
    lived(home, 200, good=True, model="cheap")
    home.clock.advance(86_400 - 1)
    assert [each.reason for each in _night(home).standstills] == ["watched"]
    assert mind(home).mixes == first
    assert "is still being observed" in told(home, "2026-01-06")
    lived(home, 1, good=True, model="cheap")
    home.clock.advance(86_400)
    assert _night(home).standstills == ()
    assert mind(home).mixes[0].weights["cheap"] > first[0].weights["cheap"]


def test_a_mix_that_tries_out_ends_within_its_day_where_its_owner_allows_none(
    home: House,
) -> None:
    first = _tried_out(home)
    _let(home, explore=0)
    lived(home, 200, good=True, model="cheap")
    home.clock.advance(86_400 - 1)
    _night(home)
    assert mind(home).mixes[0].weights == {"cheap": 1.0} != first[0].weights


def test_what_all_turns_would_have_been_worth_is_told_of_the_drawn_ones(home: House) -> None:
    """The owner pins the split, which would follow the next night's evidence otherwise."""
    _tried_out(home)
    experiments.pin_learned_subject(home.runtime, "crab", f"models:{CHAT}")
    first = experiments_for_insight(home.runtime, "crab").items[0].models
    assert [(each.turns, each.off_policy) for each in first] == [(40, None)] * 2
    for name, likely, turns, good in (("easy", 0.9, 90, True), ("hard", 0.1, 10, False)):
        drawn = served("cheap", chosen_by="learned", probability=likely)
        lived(home, turns, good=good, name=name, served=(drawn,))
    lived(home, 9, good=True, name="picked", served=(served("cheap", chosen_by="turn"),))
    home.clock.advance(86_400)
    _night(home)
    cheap, dear = experiments_for_insight(home.runtime, "crab").items[0].models
    assert cheap.off_policy is not None
    assert cheap.quality is not None
    assert cheap.off_policy.mean == pytest.approx(0.5)
    assert cheap.off_policy.n < 40 < cheap.quality.n
    assert cheap.quality.mean > cheap.off_policy.high > 0.5
    assert dear.off_policy is None


def test_what_an_agent_applied_itself_is_undone_by_its_owner(home: House) -> None:
    made = _applied_by_the_agent(home)
    undone = undo.undo_adjustment(home.runtime, "crab", made.id, "owner")
    assert (undone.state, undone.ended_by) == (AdjustmentState.UNDONE, "owner")
    assert mind(home).mixes == ()
    lived(home, 60, good=True, model="cheap")
    home.clock.advance(86_400)
    _night(home)
    assert mind(home).mixes == ()


def test_an_owner_follows_a_proposal_and_a_later_night_proposes_a_better_one(
    home: House,
) -> None:
    proposed = _proposed(home)
    made = follow_learning_proposal(home.runtime, "crab", proposed.id, "owner")
    assert (made.id, made.state, made.by) == (proposed.id, APPLIED, "owner")
    assert made.at == home.clock.now()
    assert made.evidence["proposed_by"] == "daily-2026-01-05"
    assert mind(home).mixes[0].weights == {"cheap": 1.0}
    assert find_followed_learning_proposal(home.runtime, "crab", proposed.id, "owner") == made
    with pytest.raises(Conflict, match="applied, not proposed"):
        follow_learning_proposal(home.runtime, "crab", proposed.id, "owner")
    home.clock.advance(86_400)
    lived(home, 240, good=False, model="cheap")
    home.clock.advance(86_400)
    (better,) = _night(home).adjustments
    assert (better.state, better.after) == (PROPOSED, {"weights": {"dear": 1.0}})
    assert mind(home).mixes[0].weights == {"cheap": 1.0}
    undo.undo_adjustment(home.runtime, "crab", made.id, "owner")
    with pytest.raises(Conflict, match="undone"):
        find_followed_learning_proposal(home.runtime, "crab", proposed.id, "owner")
    with pytest.raises(NotFound):
        follow_learning_proposal(home.runtime, "crab", "nothing", "owner")


def test_a_proposal_that_fits_the_present_no_more_is_not_followed(home: House) -> None:
    proposed = _proposed(home)

    def refused(why: str) -> None:
        with pytest.raises(Conflict, match=why):
            follow_learning_proposal(home.runtime, "crab", proposed.id, "owner")
        assert _changes(home) == [proposed]

    agent = home.home.agents.get("crab").agent
    routing = home.provider.routing
    home.provider.routing = routing.replaced(selectable=("dear",))
    refused("'cheap' may no longer be selected")
    home.provider.routing = routing.replaced(aliases={**routing.aliases, "cheap": "fake:other"})
    refused("now names another model")
    home.provider.routing = routing
    chosen = agent.llm.replaced(models={Use.CONVERSATION: "dear"})
    agent = home.home.agents.save(agent.replaced(llm=chosen))
    refused("set permanently for this use")
    home.home.agents.save(agent.replaced(llm=agent.llm.replaced(models={})))
    experiments.pin_learned_subject(home.runtime, "crab", "models:" + CHAT)
    refused("pinned")
    experiments.unpin_learned_subject(home.runtime, "crab", "models:" + CHAT)
    stored = home.home.facts.get("crab", ADJUSTMENT, proposed.id)
    assert stored is not None
    other = proposed.replaced(before={"weights": {"dear": 1.0}})
    home.home.facts.commit(stored.with_body(other))
    with pytest.raises(Conflict, match="changed or pinned concurrently"):
        follow_learning_proposal(home.runtime, "crab", proposed.id, "owner")


def test_a_proposal_grows_old_and_a_retired_agent_is_left_as_it_is(home: House) -> None:
    proposed = _proposed(home)
    home.clock.advance(31 * 86_400)
    with pytest.raises(Conflict, match="30 days ago"):
        follow_learning_proposal(home.runtime, "crab", proposed.id, "owner")
    agent = home.home.agents.get("crab").agent
    home.home.agents.save(agent.replaced(status=AgentStatus.RETIRED))
    with pytest.raises(Conflict, match="retired"):
        follow_learning_proposal(home.runtime, "crab", proposed.id, "owner")
    assert _changes(home) == [proposed]


def test_a_skill_is_retired_as_proposed_and_all_other_advice_is_only_advice(home: House) -> None:
    learner(home)
    one = "how to greet people in the harbour town politely"
    learnt(home, "greeting", description=one, status=SkillStatus.ACTIVE)
    learnt(home, "hello", description=one, status=SkillStatus.ACTIVE)
    learnt(home, "shouting", status=SkillStatus.ACTIVE, description="shout")
    lived(home, 40, good=False, given=("shouting",))
    lived(home, 40, good=True, held=("shouting",))
    home.clock.advance(86_400)
    _night(home)
    known = {each.after["remark"]: each for each in _changes(home) if "remark" in each.after}
    assert {word: each.subject for word, each in known.items()} == {
        "merge": "hello",
        "retire": "shouting",
    }
    with pytest.raises(Conflict, match="advice"):
        follow_learning_proposal(home.runtime, "crab", known["merge"].id, "owner")
    experiments.pin_learned_subject(home.runtime, "crab", "skill:shouting")
    with pytest.raises(Conflict, match="pinned"):
        follow_learning_proposal(home.runtime, "crab", known["retire"].id, "owner")
    experiments.unpin_learned_subject(home.runtime, "crab", "skill:shouting")
    home.clock.advance(60)
    _reworded(home, home.clock.now())
    with pytest.raises(Conflict, match="new text"):
        follow_learning_proposal(home.runtime, "crab", known["retire"].id, "owner")
    _reworded(home, None)
    made = follow_learning_proposal(home.runtime, "crab", known["retire"].id, "owner")
    gone = skill(home, "shouting")
    assert (made.after, gone.status, gone.retired_by) == (
        {"status": "archived"},
        "archived",
        "owner",
    )
    assert gone.effectiveness is not None
    assert gone.effectiveness.high < 0
    assert [each.name for each in mind(home).skills] == ["greeting", "hello"]
    undo.undo_adjustment(home.runtime, "crab", made.id, "owner")
    assert skill(home, "shouting").status == "candidate"


def test_without_trials_nothing_stays_a_candidate_or_waits_but_what_is_pinned(home: House) -> None:
    learner(home)
    for name in ("kept", "tried"):
        learnt(home, name)
    for name in ("queued", "later"):
        learnt(home, name, status=SkillStatus.DISABLED, waits=True)
    experiments.pin_learned_subject(home.runtime, "crab", "skill:kept")
    rules = home.runtime.rules
    trials = rules.trials.replaced(skill_percent=0, candidates=1)
    home.runtime = replace(home.runtime, rules=replace(rules, trials=trials))
    lived(home, 3, good=True)
    home.clock.advance(86_400)
    _night(home)
    standing = {name: skill(home, name).status.value for name in ("kept", "tried", "queued")}
    assert standing == {"kept": "candidate", "tried": "active", "queued": "active"}
    assert {each.reason for each in _changes(home)} == {"no_trials"}
    assert not any(each.on_trial for each in mind(home).skills if each.name != "kept")
    assert "trials are disabled" in told(home, "2026-01-05")
    assert "試用そのものが行われなくなった" in told(home, "2026-01-05.ja")


@pytest.mark.parametrize("scope", ["crab", INSTALLATION])
def test_a_frozen_agent_is_measured_and_nothing_is_changed_about_it(
    home: House, scope: str
) -> None:
    learner(home, **APPLY)
    learnt(home, "bad")
    _two_models(home, held=("bad",))
    lived(home, 60, good=False, model="dear", name="given", given=("bad",))
    home.home.switches.set(scope, frozen=True)
    home.clock.advance(86_400)
    assert review_agent_now(home.runtime, "crab", "daily", dry_run=True).adjustments == ()
    looked = _night(home)
    assert (looked.turns, looked.adjustments) == (180, ())
    assert [each.reason for each in looked.standstills] == ["frozen"]
    assert (_changes(home), mind(home).mixes, skill(home, "bad").status) == ([], (), "candidate")
    assert "the agent is frozen" in told(home, "2026-01-05")
    assert "凍結" in told(home, "2026-01-05.ja")
    home.home.switches.set(scope, frozen=False)
    lived(home, 1, good=True)
    home.clock.advance(86_400)
    # What was measured meanwhile is not lost.
    assert {each.kind.value for each in _night(home).adjustments} == {"models", "skill"}


def _tried_out(house: House) -> tuple[Mix, ...]:
    """The split that the night after a day with two models makes: either may be the better one."""
    learner(house, explore=0.3, **APPLY)
    for model, good, bad in (("cheap", 30, 10), ("dear", 28, 12)):
        lived(house, good, good=True, model=model)
        lived(house, bad, good=False, model=model)
    house.clock.advance(86_400)
    _night(house)
    made = mind(house).mixes
    assert set(made[0].weights) == {"cheap", "dear"}
    return made


def _night(house: House) -> ReviewResult:
    return review_agent_now(house.runtime, "crab", "daily")


def _changes(house: House) -> list[Adjustment]:
    return list(learned.page_of_adjustments(house.home.facts, "crab"))


def _reworded(house: House, at: datetime | None) -> None:
    stored = house.home.facts.get("crab", SKILL, "shouting")
    assert stored is not None
    house.home.facts.commit(stored.with_body(skill(house, "shouting").replaced(worded_at=at)))


def _two_models(house: House, **changes: Any) -> None:
    """A day on which the cheaper model does better."""
    lived(house, 60, good=True, model="cheap", **changes)
    lived(house, 30, good=True, model="dear", **changes)
    lived(house, 30, good=False, model="dear", **changes)


def _let(house: House, **aim: Any) -> Agent:
    agent = house.home.agents.get("crab").agent
    llm = agent.llm.replaced(aim=agent.llm.aim.replaced(**aim))
    return house.home.agents.save(agent.replaced(llm=llm))


def _proposed(house: House) -> Adjustment:
    """What the night after such a day proposes."""
    learner(house)
    _two_models(house)
    house.clock.advance(86_400)
    (proposed,) = _night(house).adjustments
    assert proposed.state is PROPOSED
    house.clock.advance(3_600)
    return proposed


def _applied_by_the_agent(house: House) -> Adjustment:
    """The same, done by the agent in a turn of its own, once its owner lets it."""
    proposed = _proposed(house)
    house.session(_let(house, **APPLY))
    house.scripts["dear"] = (Reply(calls=(("use_action", OPTIMIZE),)), Reply("Done."))
    (turn,) = house.say("Choose your models.")
    house.work()
    made, earlier = _changes(house)
    assert (made.state, made.by, made.before) == (APPLIED, turn.id, {})
    assert (earlier.id, earlier.state) == (proposed.id, AdjustmentState.SUPERSEDED)
    assert earlier.ended_by == made.id
    assert mind(house).mixes[0].weights == made.after["weights"] == {"cheap": 1.0}
    return made
