"""What an agent's state shows: exactly Avatar's fields, filled from its newest turn."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opencrab.domain.conversation.message import LineKind
from opencrab.domain.errors import NotFound
from opencrab.domain.value import Language
from opencrab.engine.insight.agent_state import agent_state_for_insight
from tests.crash.outside import Reply
from tests.e2e.house import House
from tests.unit.engine.telling import INSTRUCTION, asking, decided, instruct, planner
from tests.unit.engine.telling import house as opened

FIELDS = {
    "input": ["source", "authority", "text"],
    "plan": ["purpose", "goals"],
    "thought": ["judgment", "intent"],
    "action": ["phase", "summary"],
    "result": ["status", "summary"],
}
GOAL_FIELDS = ["id", "name", "status", "tasks"]
TASK_FIELDS = ["id", "name", "status"]
WRITE = ("ws_write", {"path": "notes/1.md", "content": "x"})


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with opened(tmp_path) as found:
        yield found


def shown(house: House) -> dict[str, Any]:
    return agent_state_for_insight(house.runtime, "crab").model_dump(mode="json")


def test_the_fields_are_exactly_those_of_avatar(house: House) -> None:
    house.agent("crab", ())
    found = shown(house)
    assert {name: list(part) for name, part in found.items()} == FIELDS
    assert list(found) == list(FIELDS)
    assert found["plan"] == {"purpose": None, "goals": []}
    others = (found[name].values() for name in FIELDS if name != "plan")
    assert {value for part in others for value in part} == {None}


def test_nobody_has_no_state(house: House) -> None:
    with pytest.raises(NotFound):
        agent_state_for_insight(house.runtime, "nobody")


@pytest.mark.parametrize("language", list(Language))
def test_an_action_waits_then_runs_and_the_state_says_so(house: House, language: Language) -> None:
    thinking = {Language.JA: "書こうと思います", Language.EN: "I shall write"}[language]
    asking(house, "crab", language)
    house.scripts["crab"] = (Reply(text=thinking, calls=(WRITE,)), Reply(text="できた / done"))
    house.say("書いて / write")
    house.work()
    waiting = shown(house)
    assert waiting["input"] == {"source": "rest", "authority": "owner", "text": "書いて / write"}
    assert waiting["plan"]["purpose"] == "片づける"
    assert waiting["thought"]["judgment"] == thinking
    assert waiting["thought"]["intent"] == waiting["action"]["summary"]
    assert waiting["action"]["phase"] == "approving"
    assert "notes/1.md" in waiting["action"]["summary"]
    assert waiting["result"] == {"status": None, "summary": None}
    decided(house, approved=True)
    assert shown(house)["action"]["phase"] == "executing"
    house.work()
    over = shown(house)
    assert over["action"] == {"phase": None, "summary": waiting["action"]["summary"]}
    assert over["result"] == {"status": "done", "summary": "できた / done"}
    assert house.lines(LineKind.APPROVAL)


def test_what_is_not_approved_ends_as_a_failure(house: House) -> None:
    asking(house, "crab", Language.JA)
    house.scripts["crab"] = (Reply(calls=(WRITE,)),)
    house.say("書いて")
    house.work()
    decided(house, approved=False)
    house.work()
    over = shown(house)
    assert over["action"]["phase"] is None
    assert over["result"]["status"] == "fail"
    assert "承認されなかった" in over["result"]["summary"]


@pytest.mark.parametrize("language", list(Language))
def test_open_goals_are_active_and_ended_ones_are_gone(house: House, language: Language) -> None:
    crab = house.agent("crab", (), language)
    house.interrupt(lambda: seen.append(shown(house)))
    seen: list[dict[str, Any]] = []
    instruct(house, crab.id, planner(language), language)
    assert seen[0]["plan"]["goals"] == [
        {"id": "G1", "name": INSTRUCTION[language], "status": "active", "tasks": []}
    ]
    assert seen[0]["input"]["text"] == INSTRUCTION[language]
    (goal,) = seen[3]["plan"]["goals"]
    assert list(goal) == GOAL_FIELDS
    assert [list(task) for task in goal["tasks"]] == [TASK_FIELDS] * 5
    assert [task["status"] for task in goal["tasks"]] == ["done", "active", *["pending"] * 3]
    assert shown(house)["plan"]["goals"] == []
