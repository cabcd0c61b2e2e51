"""Plans of standing instructions: given again after they were taken back, and done in silence."""

from opencrab.domain.goals.goal import GoalStatus
from opencrab.engine.autonomy.instruction_plan import withdraw_autonomy_instruction_plan
from tests.e2e.beating import living, minutes
from tests.e2e.house import House
from tests.e2e.test_instruction_plans import (
    SILENT,
    WRITES,
    answer,
    ask,
    plan,
    schedules,
    steps,
)


def test_a_goal_whose_condition_is_met_is_completed_also_by_a_silent_turn(home: House) -> None:
    living(home, "crab", (WRITES[0], *SILENT))
    home.provider.plan = answer({"name": "Write a.md", "done_when": "file:a.md", "when": "once"})
    ask(home, "Write a.md once")
    minutes(home, 5, step=30)
    (goal,) = steps(home)
    assert (goal.status, goal.pause) == (GoalStatus.COMPLETED, None)
    minutes(home, 26 * 60, step=60)
    assert (len(steps(home)), plan(home).goals[0].done) == (1, True)


def test_a_wording_that_comes_back_is_planned_again(home: House) -> None:
    living(home, "crab", SILENT)
    home.provider.plan = answer({"name": "Greet", "when": "0 8 * * *"})
    for wording in ("Greet daily at 8", "Write nothing", "Greet daily at 8"):
        ask(home, wording)
        minutes(home, 5, step=30)
    assert (plan(home).planned, len(home.provider.planning)) == (True, 3)
    assert [each.when for each in schedules(home)] == ["0 8 * * *"]
    ask(home, "")
    withdraw_autonomy_instruction_plan(home.runtime, "crab")
    assert schedules(home) == ()
    ask(home, "Greet daily at 8")
    minutes(home, 5, step=30)
    assert [each.when for each in schedules(home)] == ["0 8 * * *"]
