"""Instruction plans: when a model is asked, and whose schedules are whose."""

from datetime import UTC, datetime, timedelta

import pytest

from opencrab.domain.agents.agent import Agent
from opencrab.domain.agents.heartbeat import Heartbeat
from opencrab.domain.autonomy.instruction_plan import (
    WAIT,
    InstructionPlan,
    PlannedGoal,
    autonomy_instruction_plan_key,
    instruction_schedule_id,
    is_instructed_schedule,
    is_one_time_schedule,
    is_schedule_alike,
    is_schedule_withdrawn,
)
from opencrab.domain.autonomy.schedule import Schedule, ScheduleDraft, new_schedule
from opencrab.domain.value import Language

NOW = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
DAILY = PlannedGoal(name="Summarise the news", times="0 8 * * *")


def lives(instructions: str = "Greet", **changes: object) -> Agent:
    agent = Agent(id="crab", name="crab", created_at=NOW, updated_at=NOW)
    return agent.replaced(heartbeat=Heartbeat(instructions=instructions), **changes)


def schedule(schedule_id: str, **draft: str) -> Schedule:
    told = {"name": "news", "when": "0 8 * * *", "instructions": "Summarise the news", **draft}
    return new_schedule(schedule_id, "crab", ScheduleDraft.model_validate(told), NOW)


def test_the_fingerprint_is_of_instructions_purpose_and_language() -> None:
    key = autonomy_instruction_plan_key(lives())
    assert autonomy_instruction_plan_key(lives(" Greet\n")) == key
    assert autonomy_instruction_plan_key(lives(model="openai:gpt", version=7)) == key
    others = (lives("Greet!"), lives(purpose="x"), lives(language=Language.JA))
    assert key not in {autonomy_instruction_plan_key(each) for each in others}


def test_an_agent_waits_for_the_answer_for_some_minutes() -> None:
    plan = InstructionPlan(key="k", asked_at=NOW)
    assert plan.awaits_answer(NOW)
    assert not plan.awaits_answer(NOW + WAIT)
    assert not plan.after_failure("no", NOW).awaits_answer(NOW)
    assert not plan.replaced(planned=True).awaits_answer(NOW)


def test_a_model_is_asked_again_after_a_growing_pause() -> None:
    plan = InstructionPlan(key="k", asked_at=NOW)
    assert not plan.asks_again(NOW + HOUR / 2)
    assert plan.asks_again(NOW + HOUR)
    assert not plan.replaced(planned=True).asks_again(NOW + 100 * HOUR)
    pauses = []
    for _ in range(5):
        plan = plan.after_failure("no", NOW)
        pauses.append(next(h for h in range(100) if plan.asks_again(NOW + h * HOUR)))
    assert pauses == [1, 4, 16, 24, 24]
    assert plan.replaced(failures=10_000).asks_again(NOW + 24 * HOUR)


def test_a_schedule_of_instructions_is_the_owners_once_they_change_it() -> None:
    made = schedule(instruction_schedule_id(autonomy_instruction_plan_key(lives()), DAILY))
    assert is_instructed_schedule(made)
    assert not is_instructed_schedule(made.replaced(version=2))
    assert not is_instructed_schedule(schedule("instr-mine"))
    assert is_schedule_withdrawn(made, lives("Sing"))
    quiet = Heartbeat(instructions="Greet", initiative=False)
    assert is_schedule_withdrawn(made, lives().replaced(heartbeat=quiet))
    assert not is_schedule_withdrawn(made, lives())
    assert not is_schedule_withdrawn(made.replaced(version=2), lives("Sing"))


def test_a_schedule_for_one_run_is_known_by_its_id() -> None:
    key = autonomy_instruction_plan_key(lives())
    assert is_one_time_schedule(schedule(instruction_schedule_id(key, DAILY.replaced(once=True))))
    assert not is_one_time_schedule(schedule(instruction_schedule_id(key, DAILY)))


@pytest.mark.parametrize(
    ("draft", "alike"),
    [
        ({}, True),
        ({"name": "ニュース", "instructions": "今朝のニュースを要約する"}, False),
        ({"instructions": "Water the plants", "name": "garden"}, False),
        ({"when": "0 9 * * *"}, False),
        ({"zone": "Asia/Tokyo"}, False),
    ],
)
def test_a_schedule_is_alike_by_its_times_and_words(draft: dict[str, str], alike: bool) -> None:  # noqa: FBT001
    assert is_schedule_alike(schedule("mine", **draft), DAILY, "UTC") is alike


def test_japanese_schedules_are_compared_by_their_words() -> None:
    goal = PlannedGoal(name="ニュースを要約する", words="朝のニュースを要約する", times="0 8 * * *")
    theirs = schedule("mine", name="要約", instructions="今朝のニュースを要約してください")
    assert is_schedule_alike(theirs, goal, "UTC")
