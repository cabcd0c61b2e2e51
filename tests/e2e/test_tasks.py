"""Instructions from plan to report: told, refused, in their order, and begun in chat."""

from typing import Any

import pytest

from opencrab.domain.errors import Conflict, NotFound
from opencrab.domain.goals.goal import GoalStatus, TaskStatus
from opencrab.domain.models.routing import Use
from opencrab.domain.outcome import Outcome
from opencrab.domain.turn.record import ModelIntent
from opencrab.domain.turn.turn import TurnStatus
from opencrab.domain.value import Language
from opencrab.engine.approvals import approvals
from opencrab.engine.goals import instructions
from opencrab.engine.goals.generation import generate_exploration_goal
from opencrab.engine.turn.work import ITEMS
from tests.crash.errand import GUARDED, OWNER, plan
from tests.crash.outside import Reply, Script
from tests.e2e.house import House
from tests.e2e.instructed import agenda, at_rest, carried, crab, goal, instruct, told, until
from tests.e2e.wanting import begins, lives

WORDS = {
    Language.JA: ("メモを整理して", "未確認: 9.md", "見つからない"),
    Language.EN: ("Organise the notes", "Unconfirmed: 9.md", "見つからない"),
}


@pytest.mark.parametrize("language", [Language.JA, Language.EN])
def test_an_instruction_is_carried_out_from_plan_to_report(home: House, language: Language) -> None:
    instruction, unconfirmed, cause = WORDS[language]
    crab(home, language)
    given = instruct(home, instruction)
    assert (given.id, given.status, given.name) == ("G1", GoalStatus.ACTIVE, instruction)
    carried(home)
    done = goal(home)
    assert (done.status, done.unconfirmed) == (
        GoalStatus.COMPLETED,
        ("9.md", *done.unconfirmed[1:]),
    )
    assert done.report.splitlines()[0] == "整理しました"
    assert unconfirmed in done.report
    assert told(home) == [
        "[G1-T1] DONE 1番目のメモを書く",
        "[G1-T2] DONE Write note 2",
        f"[G1-T3] FAIL 3番目のメモを書く / {cause}",
        "[G1-T4] DONE Write note 4",
        "[G1-T5] DONE 5番目のメモを書く",
        f"[G1] DONE {instruction} / 80%",
    ]
    assert all(task.confirmed for task in done.tasks)
    at_rest(home)


def _refused(house: House, tasks_planned: list[dict[str, Any]], **budget: Any) -> str:
    """What the agent is told of its first plan; the second one is right."""
    planned: Script = (
        Reply(calls=(("plan_goal", {"goal_id": "G1", "tasks": tasks_planned}),)),
        Reply(calls=(plan(),)),
    )
    crab(house, G1=planned)
    new = instructions.NewInstruction(instruction="整理して", **budget)
    instructions.start_instruction_as_goal(house.runtime, "crab", new, OWNER, key="k")
    house.work()
    assert len(goal(house).tasks) == 5
    lines = house.home.journal.lines(goal(house).session_id, limit=10)
    return str(lines[1].data and lines[1].data["result"])


def _rows(**changes: Any) -> list[dict[str, Any]]:
    return [{**row, **changes} for row in plan()[1]["tasks"]]


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([], "is empty"),
        (_rows()[:4], "has 4 tasks"),
        (_rows() * 3, "has 15 tasks"),
        (
            [{**row, "depends_on": [place % 5 + 1]} for place, row in enumerate(_rows(), 1)],
            "cyclic",
        ),
        (_rows(estimated_cost_usd=3.0), "estimated at $15.00"),
        ([{"name": "x"}], "Field required"),
    ],
)
def test_a_plan_that_cannot_be_carried_out_is_refused(
    home: House, rows: list[dict[str, Any]], why: str
) -> None:
    assert why in _refused(home, rows, budget_micro_usd=1_000_000)


def test_a_plan_is_fixed_and_carried_out_in_the_order_of_what_depends_on_what(home: House) -> None:
    rows = _rows()
    rows[0]["depends_on"] = [5]
    again: Script = (Reply(calls=(("plan_goal", {"goal_id": "G1", "tasks": rows}), plan())),)
    crab(home, G1=again)
    instruct(home)
    home.work()
    assert [task.name for task in goal(home).tasks][-2:] == [
        "5番目のメモを書く",
        "1番目のメモを書く",
    ]
    results = home.home.journal.lines(goal(home).session_id, limit=10)
    assert "fixed until every task" in str(results[2].data)


def test_two_instructions_are_carried_out_one_after_the_other(home: House) -> None:
    crab(home)
    assert instruct(home).status is GoalStatus.ACTIVE
    assert instruct(home, "もう一つ", "k2").status is GoalStatus.PENDING
    assert agenda(home).waiting == ("G2",)
    until(home, "G1-T5")
    assert goal(home, "G2").runs == 0
    carried(home, 30)
    assert [goal(home, each).status for each in ("G1", "G2")] == [GoalStatus.COMPLETED] * 2
    assert told(home, "G2")[-1] == "[G2] DONE もう一つ / 80%"
    assert len(home.bell.rings) == len(set(home.bell.rings)) == 10
    at_rest(home)


def test_while_an_approval_waits_the_plan_waits_and_chat_goes_on(home: House) -> None:
    crab(home)
    home.home.agents.save(home.home.agents.get("crab").agent.replaced(policy=GUARDED))
    instruct(home)
    instruct(home, "もう一つ", "k2")
    carried(home)
    (asked,) = approvals.open_or_decided_approvals(home.runtime.home.facts, decided=False)
    assert asked.goal == "G1-T1"
    assert goal(home, "G2").runs == 0
    (turn,) = home.say("元気?")
    home.work()
    assert home.turn(turn.id).status is TurnStatus.COMPLETED
    who = approvals.Decider(id="owner", is_owner=True)
    approvals.decide_approval(home.runtime, asked.id, approved=False, who=who)
    carried(home)
    assert goal(home).pause is not None
    assert goal(home, "G2").runs > 0
    assert told(home) == []


def test_a_resumed_goal_waits_in_line_while_another_one_is_carried_out(home: House) -> None:
    crab(home)
    instruct(home)
    instruct(home, "もう一つ", "k2")
    instructions.pause_goal_by_label(home.runtime, "crab", "G2", by="owner")
    assert agenda(home).waiting == ()
    instructions.resume_goal(home.runtime, "crab", "G2")
    assert (agenda(home).current, agenda(home).waiting) == ("G1", ("G2",))
    until(home, "G1-T2")
    instructions.pause_goal_by_label(home.runtime, "crab", "G1", by="owner")
    assert agenda(home).current == "G2"
    instructions.resume_goal(home.runtime, "crab", "G1")
    home.work()
    assert goal(home).task("G1-T2").status.is_end  # type: ignore[union-attr]
    assert (agenda(home).current, agenda(home).waiting) == ("G2", ("G1",))
    assert instructions.resume_goal(home.runtime, "crab", "G1").turn_id == goal(home).turn_id
    carried(home, 40)
    assert [goal(home, each).status for each in ("G1", "G2")] == [GoalStatus.COMPLETED] * 2
    at_rest(home)


def test_the_same_key_answers_the_same_goal_and_another_instruction_is_refused(home: House) -> None:
    crab(home)
    assert instruct(home).id == instruct(home).id == "G1"
    carried(home)
    assert instruct(home).status is GoalStatus.COMPLETED
    assert len(home.bell.rings) == 5
    with pytest.raises(Conflict, match="another instruction"):
        instruct(home, "別のこと")


def test_goals_that_begin_in_chat_are_carried_out_after_the_turn(home: House) -> None:
    crab(home)
    added = tuple(("add_goal", {"name": f"目標{n}"}) for n in range(1, 5))
    planned = plan()[1]["tasks"]
    home.scripts["crab"] = (
        Reply(calls=(*added, ("plan_goal", {"goal_id": "G1", "tasks": planned}))),
        Reply(calls=tuple(("start_task", {"task_id": f"G{n}"}) for n in range(1, 5))),
        Reply(text="始めます"),
    )
    home.say("四つやって")
    home.work()
    assert (agenda(home).current, agenda(home).waiting) == ("G1", ("G2", "G3", "G4"))
    carried(home)
    assert told(home)[-1] == "[G1] DONE 目標1 / 80%"
    assert agenda(home).current != "G1"


def test_nobody_is_known_who_asks_for_what_is_not_there(home: House) -> None:
    crab(home)
    for act in (instructions.pause_goal_by_label, instructions.cancel_goal):
        with pytest.raises(NotFound):
            act(home.runtime, "crab", "G7", by="owner")
    with pytest.raises(NotFound):
        instructions.start_instruction_as_goal(
            home.runtime, "nobody", instructions.NewInstruction(instruction="x"), OWNER, key="k"
        )


@pytest.mark.parametrize("count", [2, 12])
def test_many_goals_that_one_turn_begins_are_written_in_small_transactions(
    home: House, count: int
) -> None:
    row = {"name": "書く", "precondition": "file:never.md", "postcondition": "…"}
    ids = [f"G{number}" for number in range(1, count + 1)]
    rows = [row] * 10
    adds = tuple(("add_goal", {"name": f"目標{name}"}) for name in ids)
    plans = tuple(("plan_goal", {"goal_id": name, "tasks": rows}) for name in ids)
    starts = tuple(("start_task", {"task_id": name}) for name in ids)
    crab(home)
    said = (Reply(calls=adds), Reply(calls=plans), Reply(calls=starts), Reply("始めます"))
    home.scripts["crab"] = said
    ended: Script = (Reply(calls=(("report", {"summary": "だめ", "outcome": "failure"}),)),)
    home.scripts |= {f"crab@{name}/report": ended for name in ids}
    (turn,) = home.say("たくさんお願い")
    home.work()
    assert home.turn(turn.id).status is TurnStatus.COMPLETED
    assert (agenda(home).current, agenda(home).waiting) == ("G1", tuple(ids[1:]))
    blocked = [line.text for line in home.lines() if " FAIL " in line.text]
    assert [text.count(" FAIL ") for text in blocked] == [10]
    carried(home, 2 * count)
    for name in ids:
        done = goal(home, name)
        assert done.status is GoalStatus.COMPLETED
        assert {task.status for task in done.tasks} == {TaskStatus.FAIL}
    at_rest(home)
    assert max(home.transactions) <= ITEMS


def test_a_goal_that_ended_in_words_alone_is_no_success(home: House) -> None:
    crab(home, G1=(Reply("終わりました"),))
    instruct(home)
    carried(home, 3)
    came = goal(home)
    assert (came.status, bool(came.unconfirmed)) == (GoalStatus.COMPLETED, True)
    assert came.satisfaction is not None
    assert (came.satisfaction.outcome, came.satisfaction.reward_actual) == (Outcome.UNKNOWN, 0.0)


@pytest.mark.parametrize("own", [False, True])
def test_a_goal_whose_only_plan_was_refused_waits_and_says_why(home: House, *, own: bool) -> None:
    refused: Script = (
        Reply(calls=(("plan_goal", {"goal_id": "G1", "tasks": [plan()[1]["tasks"][0]]}),)),
        Reply("終わりました"),
    )
    if own:
        lives(home, G1=refused)
        begins(home, generate_exploration_goal)
    else:
        crab(home, G1=refused)
        instruct(home)
    carried(home, 3)
    waits = goal(home)
    assert (waits.status, waits.satisfaction) == (GoalStatus.ACTIVE, None)
    assert waits.pause is not None
    assert "a goal has 5 to 10" in waits.pause.reason
    at_rest(home)


@pytest.mark.parametrize("language", [Language.JA, Language.EN])
def test_each_call_of_a_task_acts_and_is_asked_for_its_reason(
    home: House, language: Language
) -> None:
    crab(home, language)
    instruct(home, WORDS[language][0])
    carried(home)
    uses = list[Use]()
    for task in goal(home).tasks:
        assert task.turn_id is not None
        records = home.home.journal.load(task.turn_id).records
        uses += [record.purpose for record in records if isinstance(record, ModelIntent)]
    assert len(uses) >= 2 * len(goal(home).tasks)
    assert set(uses) == {Use.CONVERSATION}, "no model is named for tool calls"
    asked = [str(request.turns[-1]) for request in home.provider.seen]
    assert all("<think>" in text for text in asked)
