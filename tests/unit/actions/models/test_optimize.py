"""Choosing models by what was measured: advised, proposed or made, and only as the owner lets."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from opencrab.actions.models.text import _SENTENCES, action_text_for_models
from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.agent_state import MIND, AgentState
from opencrab.domain.document import Document, new_fact
from opencrab.domain.learning.change import ADJUSTMENT, Adjustment, AdjustmentState, end_adjustment
from opencrab.domain.learning.evidence import Evidence
from opencrab.domain.models.optimization import LearningMode, OptimizationGoal
from opencrab.domain.models.routing import LlmConfig, Use
from opencrab.domain.models.traffic_split import Mix
from opencrab.domain.money.budget import Usage
from opencrab.domain.value import Language
from opencrab.ports.documents import Documents
from tests.unit.actions.metering import Office, office
from tests.unit.domain.measured import GPT, MINI, of

TASK = "conversation/conversation"
DAY = datetime(2026, 2, 16, 9, tzinfo=UTC)


@pytest.fixture
def mika(tmp_path: Path) -> Iterator[Office]:
    """Mini is as good as gpt, costs a quarter, and both are known well.

    The call stands for 800 turns of 1,000 tokens, whose prices today are 4,000 and 1,000.
    """
    with office(tmp_path) as there:
        there.know(evidence())
        there.call(1, at=DAY, cost=4_000, usage=Usage(input_tokens=800_000))
        yield there


def evidence(**more: Any) -> Evidence:
    return Evidence(
        models={
            f"{TASK}/{GPT}": of(400, 0.85, cost=4_000),
            f"{TASK}/{MINI}": of(400, 0.85, cost=1_000),
            **more,
        }
    )


def mind(mika: Office) -> AgentState:
    return mika.desk.mind()


def changes(mika: Office) -> list[Adjustment]:
    page = mika.desk.home.facts.page("mika", ADJUSTMENT)
    return [fact.read(Adjustment) for fact in page]


def test_advice_names_what_suits_each_kind_of_work_and_changes_nothing(mika: Office) -> None:
    told = mika.data("optimize_model_selection", optimization_goal="minimize_cost")
    assert told["status"] == "advice"
    assert told["current_config"] == {TASK: {"smart": 1.0}}
    assert told["optimized_config"] == {TASK: {"fast": 1.0}}
    assert told["expected_savings"] == pytest.approx(800 * 0.003)
    assert abs(told["expected_quality_change"]) < 0.01
    (task,) = told["task_specific_recommendations"]
    assert (task["current_model"], task["suggested_model"]) == ("smart", "fast")
    assert (task["purpose"], task["task_type"]) == ("conversation", "conversation")
    assert task["expected_improvement"]["cost_usd_a_turn"] == -0.003
    assert "changes" not in told
    assert (mind(mika), changes(mika)) == (AgentState(), [])


def test_where_the_owner_lets_it_the_mix_is_made_with_its_evidence(mika: Office) -> None:
    mika.aim(leave=LearningMode.APPLY, goal=OptimizationGoal.MINIMIZE_COST)
    told = mika.data("optimize_model_selection", apply_immediately=True)
    assert told["status"] == "applied"
    (mix,) = mind(mika).mixes
    assert mix == Mix(purpose=Use.CONVERSATION, task_type="conversation", weights={"fast": 1.0})
    (made,) = changes(mika)
    assert told["changes"] == [made.id]
    assert (made.state, made.by, made.subject) == (AdjustmentState.APPLIED, "t1", TASK)
    assert (made.before, made.after) == ({}, {"weights": {"fast": 1.0}})
    assert set(made.evidence) >= {"quality", "models", "cost_micro_usd"}
    again = mika.data("optimize_model_selection", apply_immediately=True)
    assert again["status"] == "none_better"
    assert again["unchanged"] == {TASK: "as_it_is"}
    assert len(changes(mika)) == 1


@pytest.mark.parametrize("language", Language)
def test_what_the_owner_did_not_allow_is_kept_as_a_proposal(
    mika: Office, language: Language
) -> None:
    mika.aim(language, leave=LearningMode.RECOMMEND, goal=OptimizationGoal.MINIMIZE_COST)
    mika.desk.on_behalf_of(Authority.USER)
    told = mika.data("optimize_model_selection", apply_immediately=True)
    assert (told["status"], told["note"]) == (
        "not_allowed",
        action_text_for_models("not_allowed", language),
    )
    assert [each.state for each in changes(mika)] == [AdjustmentState.PROPOSED]
    assert mind(mika).mixes == ()


@pytest.mark.parametrize("leave", [LearningMode.APPLY, LearningMode.RECOMMEND])
@pytest.mark.parametrize(
    ("taint", "asked", "status"),
    [
        (True, {}, "not_your_word"),
        (False, {"optimization_goal": "maximize_quality"}, "other_aim"),
        (False, {"min_quality_threshold": 0.6}, "other_aim"),
        (False, {"min_quality_threshold": 0.8}, "other_aim"),
        (False, {"budget_limit_usd": 1_000}, "other_aim"),
        (False, {"budget_limit_usd": 1}, "other_aim"),
    ],
)
def test_what_others_wish_for_is_neither_made_nor_proposed(
    mika: Office, *, leave: LearningMode, taint: bool, asked: dict[str, Any], status: str
) -> None:
    mika.know(Evidence(models={f"{TASK}/{MINI}": of(900, 0.95, cost=1_000)}), "2026-02-17")
    mika.aim(Language.EN, leave=leave, goal=OptimizationGoal.MINIMIZE_COST)
    for authority in (Authority.USER, Authority.SELF):
        mika.desk.on_behalf_of(authority, taint=taint)
        told = mika.data("optimize_model_selection", apply_immediately=True, **asked)
        assert (told["status"], told["note"]) == (
            status,
            action_text_for_models(status, Language.EN),
        )
        assert (mind(mika), changes(mika)) == (AgentState(), [])


def test_in_a_turn_of_the_owner_another_aim_counts(mika: Office) -> None:
    mika.aim(leave=LearningMode.APPLY, goal=OptimizationGoal.MAXIMIZE_QUALITY)
    told = mika.data(
        "optimize_model_selection", optimization_goal="minimize_cost", apply_immediately=True
    )
    assert (told["status"], mind(mika).mixes[0].weights) == ("applied", {"fast": 1.0})


def test_the_same_is_proposed_once_until_it_can_be_followed_no_more(mika: Office) -> None:
    mika.aim(leave=LearningMode.RECOMMEND, goal=OptimizationGoal.MINIMIZE_COST)
    told = [mika.data("optimize_model_selection", apply_immediately=True) for _ in range(3)]
    (first,) = changes(mika)
    assert [each["changes"] for each in told] == [[first.id]] * 3
    mika.desk.clock.advance(31 * 86_400)
    mika.data("optimize_model_selection", apply_immediately=True)
    assert [each.state.value for each in changes(mika)] == ["superseded", "proposed"]


def test_what_was_followed_while_a_proposal_was_made_stays_as_it_is(mika: Office) -> None:
    mika.aim(leave=LearningMode.RECOMMEND, goal=OptimizationGoal.MINIMIZE_COST)
    mika.data("optimize_model_selection", apply_immediately=True)
    facts = mika.desk.home.facts
    slow: Any = Followed(facts)
    mika.desk.at = replace(mika.desk.at, reach=replace(mika.desk.at.reach, facts=slow))
    mika.desk.clock.advance(31 * 86_400)
    mika.data("optimize_model_selection", apply_immediately=True)
    assert [each.state.value for each in changes(mika)] == ["applied", "proposed"]


class Followed:
    """Facts whose owner follows each proposal as soon as somebody has read it."""

    def __init__(self, facts: Documents) -> None:
        self.get, self.commit, self._page = facts.get, facts.commit, facts.page

    def page(self, owner: str, kind: str, **more: Any) -> tuple[Document, ...]:
        found = self._page(owner, kind, **more)
        for fact in found if kind == ADJUSTMENT else ():
            made = fact.read(Adjustment).replaced(state=AdjustmentState.APPLIED)
            self.commit(fact.with_body(made))
        return found


def test_an_owner_who_switched_it_off_is_left_in_peace(mika: Office) -> None:
    mika.aim(leave=LearningMode.OFF, goal=OptimizationGoal.MINIMIZE_COST)
    told = mika.data("optimize_model_selection", apply_immediately=True)
    assert told["status"] == "off"
    assert changes(mika) == []


def test_what_the_owner_took_back_is_not_made_again(mika: Office) -> None:
    mika.aim(leave=LearningMode.APPLY, goal=OptimizationGoal.MINIMIZE_COST)
    mika.data("optimize_model_selection", apply_immediately=True)
    facts = mika.desk.home.facts
    (fact,) = facts.page("mika", ADJUSTMENT)
    undone = end_adjustment(
        fact.read(Adjustment), AdjustmentState.UNDONE, mika.desk.clock.now(), "owner"
    )
    held = facts.get("mika", MIND, MIND)
    assert held is not None
    facts.commit(fact.with_body(undone), held.with_body(AgentState()))
    again = mika.data("optimize_model_selection", apply_immediately=True)
    assert again["unchanged"] == {TASK: "taken_back"}
    assert mind(mika).mixes == ()


@pytest.mark.parametrize(
    ("held", "llm", "why"),
    [
        (AgentState(pinned=(f"models:{TASK}",)), LlmConfig(), "pinned"),
        (AgentState(), LlmConfig(models={Use.CONVERSATION: "smart"}), "chosen"),
    ],
)
def test_what_the_owner_fixed_stays(
    mika: Office, held: AgentState, llm: LlmConfig, why: str
) -> None:
    mika.desk.home.facts.commit(new_fact("mika", MIND, MIND, held))
    mika.desk.at = replace(mika.desk.at, agent=mika.desk.at.agent.replaced(llm=llm))
    told = mika.data("optimize_model_selection", optimization_goal="minimize_cost")
    assert told["unchanged"] == {TASK: why}
    assert told["task_specific_recommendations"] == []


def test_no_model_is_chosen_that_may_not_be_selected(mika: Office) -> None:
    better = {f"{TASK}/{name}": of(400, 0.99, cost=1) for name in ("x:outside", "ollama:able")}
    mika.know(evidence(**better), "2026-02-17")
    for goal in OptimizationGoal:
        told = mika.data("optimize_model_selection", optimization_goal=goal.value)
        assert set(told["optimized_config"][TASK]) <= {"smart", "fast"}
    mika.owned(selectable=())
    assert mika.data("optimize_model_selection")["status"] == "no_choice"


@pytest.mark.parametrize("language", Language)
def test_without_enough_data_it_says_so_and_changes_nothing(
    tmp_path: Path, language: Language
) -> None:
    with office(tmp_path) as mika:
        mika.aim(language, leave=LearningMode.APPLY)
        for known in (None, Evidence(models={f"{TASK}/{GPT}": of(3, 1.0)})):
            if known is not None:
                mika.know(known)
            told = mika.data("optimize_model_selection", apply_immediately=True)
            assert (told["status"], told["note"]) == (
                "little",
                action_text_for_models("little", language),
            )
            assert told["expected_savings"] is None
            assert (mind(mika), changes(mika)) == (AgentState(), [])


def test_a_turn_writes_no_more_changes_than_it_has_room_for(mika: Office) -> None:
    many = {
        f"conversation/task-{n}/{model}": known
        for n in range(9)
        for model, known in ((GPT, of(400, 0.85, cost=4_000)), (MINI, of(400, 0.85)))
    }
    mika.know(Evidence(models=many), "2026-02-17")
    mika.aim(leave=LearningMode.APPLY, goal=OptimizationGoal.MINIMIZE_COST)
    left = 10
    while left:
        told = mika.data("optimize_model_selection", apply_immediately=True)
        assert told["status"] == "applied"
        left -= len(told["changes"])
        assert len(told["left_for_another_call"]) == left
    assert len(mind(mika).mixes) == 10


def test_everything_is_said_in_both_languages() -> None:
    for name in _SENTENCES:
        assert action_text_for_models(name, Language.EN).isascii()
        assert not action_text_for_models(name, Language.JA).isascii()
