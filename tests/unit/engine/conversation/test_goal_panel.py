"""The panel of an instruction has its tasks, its standing, and why it rests."""

from opencrab.domain.goals.goal import Goal, PlannedTask, TaskStatus, with_plan
from opencrab.engine.conversation.goal_panel import show_goal_panel_in_conversation
from opencrab.engine.goals import instructions
from opencrab.engine.goals.pausing import require_goal_document
from opencrab.ports.conversation.channel import Panel, PanelRow
from tests.unit.engine.goals.test_panel_notice import Frame, given
from tests.unit.engine.known_world import World

NAMES = ("見る", "Sort", "Tidy", "数える", "Tell")


def shown(world: World, frame: Frame, goal: str, agent_id: str = "ken") -> Panel:
    """The panel as it is now."""
    show_goal_panel_in_conversation(world.runtime, {"panel": {"agent": agent_id, "goal": goal}})
    return frame.shown[-1][1]


def test_tasks_are_rows_in_their_order(world: World) -> None:
    frame = Frame()
    goal = given(world, frame)
    fact = require_goal_document(world.runtime.home.facts, "ken", goal)
    steps = [PlannedTask(name=name, precondition="a", postcondition="b") for name in NAMES]
    plan = with_plan(fact.read(Goal), tuple(steps))
    first = plan.tasks[0].replaced(status=TaskStatus.DONE)
    world.runtime.home.facts.commit(fact.with_body(plan.replaced(tasks=(first, *plan.tasks[1:]))))
    panel = shown(world, frame, goal)
    assert panel.rows[0] == PanelRow("G1-T1", "見る", "done")
    assert [row.name for row in panel.rows] == list(NAMES)
    assert panel.percent == 20


def test_a_paused_one_says_why(world: World) -> None:
    frame = Frame()
    goal = given(world, frame, "mika")
    instructions.pause_goal_by_label(world.runtime, "mika", goal, by="owner", reason="昼休み")
    panel = shown(world, frame, goal, "mika")
    assert (panel.standing, panel.note, panel.over) == ("paused", "昼休み", False)


def test_one_that_was_given_up_is_over(world: World) -> None:
    frame = Frame()
    goal = given(world, frame)
    instructions.cancel_goal(world.runtime, "ken", goal, by="owner")
    assert shown(world, frame, goal).standing == "abandoned"
