"""What turns leave as experiences by code: goals of the owner, and events that were acted on."""

import pytest

from opencrab.domain.goals.goal import GoalStatus
from opencrab.domain.memory.memory import EXPERIENCE, Experience
from opencrab.domain.outcome import Outcome
from opencrab.domain.value import Language
from opencrab.engine.agents.vital_signs import create_agent_vital_signs
from tests.crash.outside import Reply, Script
from tests.e2e.beating import living, minutes, signs, tell
from tests.e2e.house import House
from tests.e2e.instructed import carried, crab, goal, instruct
from tests.e2e.wanting import gives_up

WORDS = {Language.EN: "Tidy the notes", Language.JA: "メモを整理して"}
WROTE = ("ws_write", {"path": "notes/rain.md", "content": "雨"})


def experiences(house: House) -> list[Experience]:
    return [fact.read(Experience) for fact in house.home.facts.page("crab", EXPERIENCE)]


@pytest.mark.parametrize("language", Language)
def test_a_goal_of_the_owner_and_its_failed_task_are_one_experience_each(
    house: House, language: Language
) -> None:
    crab(house, language)
    create_agent_vital_signs(house.runtime, house.home.agents.get("crab"))
    before = signs(house, "crab").lived_at
    instruct(house, WORDS[language])
    carried(house)
    done = goal(house)
    assert done.status is GoalStatus.COMPLETED
    assert any(task.confirmed for task in done.tasks)
    failed, lived = experiences(house)
    assert (failed.experience[:7], failed.outcome) == ("[G1-T3]", Outcome.FAILURE)
    assert failed.lesson == "見つからない"
    assert lived.experience == f"[G1] {WORDS[language]}"
    assert (lived.outcome, lived.about_turn) == (Outcome.PARTIAL, done.turn_id)
    assert (lived.person_id, lived.session_id) == ("owner", done.session_id)
    assert lived.lesson == done.report.splitlines()[0]
    assert signs(house, "crab").lived_at == before, "curiosity is about what it does of itself"


@pytest.mark.parametrize("language", Language)
def test_a_task_of_the_owner_that_fails_is_an_experience_with_its_cause(
    home: House, language: Language
) -> None:
    crab(home, language, G1_T1=gives_up("G1-T1"))
    instruct(home, WORDS[language])
    carried(home)
    told = {(each.experience[:7], each.outcome, each.lesson) for each in experiences(home)}
    assert ("[G1-T1]", Outcome.FAILURE, "暗い") in told
    turns = [each.about_turn for each in experiences(home)]
    assert len(set(turns)) == len(turns), "at most one for each turn"


def test_words_alone_and_silence_are_no_experience(home: House) -> None:
    crab(home, G1=(Reply("整理しました"),), G2=(Reply(""),))
    instruct(home)
    carried(home, 3)
    assert goal(home).status is GoalStatus.COMPLETED
    instruct(home, key="k2")
    carried(home, 3)
    assert experiences(home) == []


def test_a_turn_that_stored_its_own_lesson_adds_none(home: House) -> None:
    lesson = {"experience": "整理", "outcome": "success", "lesson": "早い方がよい"}
    calls = (WROTE, ("learn_from_experience", lesson))
    crab(home, G1=(Reply(calls=calls), Reply("整理しました")))
    instruct(home)
    carried(home, 3)
    (lived,) = experiences(home)
    assert lived.lesson == "早い方がよい"


ACTS: Script = (Reply(calls=(WROTE,)), Reply("書きました"))
TRIES: Script = (Reply(calls=(WROTE, ("ws_read", {"path": "none.md"}))), Reply("書きました"))


@pytest.mark.parametrize(("script", "outcome"), [(ACTS, Outcome.SUCCESS), (TRIES, Outcome.PARTIAL)])
@pytest.mark.parametrize(("text", "tainted"), [("雨", False), ("Rain", True)])
def test_an_event_that_was_acted_on_is_one_experience(
    house: House, script: Script, outcome: Outcome, text: str, *, tainted: bool
) -> None:
    living(house, "crab", script, instructions="海を見る")
    tell(house, "crab", 1, text=text, tainted=tainted)
    tell(house, "crab", 2, text=text, tainted=tainted)
    before = signs(house, "crab").lived_at
    minutes(house, 2, step=30)
    assert signs(house, "crab").unread == 0
    (lived,) = experiences(house)
    assert lived.experience == f"[world.bounty] {text} (+1)"
    assert lived.lesson == "ws_write notes/rain.md"
    assert (lived.outcome, lived.tainted) == (outcome, tainted)
    assert signs(house, "crab").lived_at == before


@pytest.mark.parametrize(
    "script", [(Reply("見ました"),), (Reply(calls=(("ws_list", {}),)), Reply("見ました"))]
)
def test_an_event_that_was_only_looked_at_is_none(home: House, script: Script) -> None:
    living(home, "crab", script, instructions="海を見る")
    tell(home, "crab")
    minutes(home, 2, step=30)
    assert signs(home, "crab").unread == 0
    assert experiences(home) == []
