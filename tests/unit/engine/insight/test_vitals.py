"""How an agent fares: its queue, its streaks, its budget, what waits for it, and its machine."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from opencrab.domain.errors import NotFound
from opencrab.domain.goals.goal import OPEN_GOALS
from opencrab.domain.models.fault import Fault
from opencrab.domain.turn.turn import Trigger
from opencrab.engine.goals.instructions import NewInstruction, start_instruction_as_goal
from opencrab.engine.insight.agent_state import StatePlan
from opencrab.engine.insight.panes import Inspector, insight_panes
from opencrab.engine.insight.vitals import Machine, Vitals, agent_vitals_for_insight
from opencrab.engine.turn.admission import admit_turns_of_message
from tests.crash.outside import Reply
from tests.crash.scenarios import message
from tests.e2e.house import START, House
from tests.unit.engine.telling import OWNER, asking
from tests.unit.engine.telling import house as opened

FIELDS = [
    "queue_age_seconds",
    "last_beat",
    "idle_streak",
    "budget_left_micro_usd",
    "error_rate",
    "open_approvals",
    "open_goals",
    "goal_slots",
    "next_beat_at",
    "beats",
    "in_vain",
    "warning",
    "machine",
]


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with opened(tmp_path) as found:
        yield found


def say(house: House, number: int, reply: Reply) -> None:
    """One more message, and the turn that it starts."""
    house.scripts["crab"] = (reply,)
    house.say("?", f"m{number}")
    house.work()
    house.clock.advance(1)


def test_a_new_agent_has_all_before_it(house: House) -> None:
    house.agent("crab", ())
    found = agent_vitals_for_insight(house.runtime, "crab")
    assert list(found.model_dump()) == FIELDS
    assert found == Vitals(
        queue_age_seconds=None,
        last_beat=None,
        idle_streak=0,
        budget_left_micro_usd=house.runtime.rules.limits.agent_day_micro_usd,
        error_rate=None,
        open_approvals=0,
        open_goals=0,
        goal_slots=OPEN_GOALS,
    )
    with pytest.raises(NotFound):
        agent_vitals_for_insight(house.runtime, "nobody")


def test_streaks_and_errors_are_those_of_the_newest_turns(house: House) -> None:
    house.session(house.agent("crab", ()))
    say(house, 1, Reply(fails=(Fault.BAD_REQUEST,) * 9))
    say(house, 2, Reply(text="yes"))
    say(house, 3, Reply())
    say(house, 4, Reply())
    found = agent_vitals_for_insight(house.runtime, "crab")
    assert (found.idle_streak, found.error_rate) == (2, 0.25)
    assert found.budget_left_micro_usd < house.runtime.rules.limits.agent_day_micro_usd
    say(house, 5, Reply(text="yes"))
    assert agent_vitals_for_insight(house.runtime, "crab").idle_streak == 0


def test_what_is_queued_waits_and_what_asks_is_counted(house: House) -> None:
    write = ("ws_write", {"path": "a.md", "content": "x"})
    asking(house, "crab")
    house.scripts["crab"] = (Reply(calls=(write,)),)
    house.say("?")
    house.clock.advance(30)
    assert agent_vitals_for_insight(house.runtime, "crab").queue_age_seconds == 30
    house.work()
    start_instruction_as_goal(
        house.runtime, "crab", NewInstruction(instruction="x"), OWNER, key="k"
    )
    found = agent_vitals_for_insight(house.runtime, "crab")
    assert (found.open_approvals, found.open_goals, found.queue_age_seconds) == (1, 1, 0)


def test_the_last_beat_is_the_newest_turn_that_the_heart_began(house: House) -> None:
    house.session(house.agent("crab", (Reply(text="..."),)))
    admit_turns_of_message(
        house.runtime, "s", message("beat", "b1", None), trigger=Trigger.HEARTBEAT
    )
    house.work()
    house.clock.advance(60)
    say(house, 2, Reply(text="yes"))
    assert agent_vitals_for_insight(house.runtime, "crab").last_beat == START


def test_the_machine_is_told_of_where_there_is_one(house: House) -> None:
    house.agent("crab", ())
    here = Machine(cpu_percent=1.5)
    assert agent_vitals_for_insight(house.runtime, "crab", lambda: here).machine == here


def test_the_panes_show_what_came_in_by_which_door(house: House) -> None:
    house.session(house.agent("crab", (Reply(text="やあ"),)))
    house.say("こんにちは")
    house.work()
    chat, cli, plan, inspector, measured = insight_panes(house.runtime, "crab")
    assert [each.pane.value for each in (chat, cli, plan, inspector, measured)] == [
        "chat",
        "cli",
        "plan",
        "inspector",
        "vitals",
    ]
    assert str(chat.data).endswith("crab: やあ")
    assert "こんにちは" in str(chat.data)
    assert cli.data == ""
    assert plan.data == StatePlan()
    assert isinstance(inspector.data, Inspector)
    assert inspector.data.result.summary == "やあ"
    assert isinstance(measured.data, Vitals)
