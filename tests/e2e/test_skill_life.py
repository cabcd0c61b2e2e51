"""The life of a skill that helps with one type of task, as its owner sees it told."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from opencrab.domain.learning.signals import (
    CURRENT,
    SKILL_HOLDOUTS,
    SkillHoldouts,
    draw_learned_skill_holdouts,
)
from opencrab.domain.models.routing import Use
from opencrab.domain.skills.skill import SkillStatus
from opencrab.engine.insight.experiments import Experiment, experiments_for_insight
from opencrab.engine.learning.changes import page_of_adjustments
from opencrab.engine.learning.nightly.run import review_agent_now
from tests.contract.homes import sqlite
from tests.e2e.house import House
from tests.e2e.nights import learner, learnt, lived, mind, served, skill
from tests.e2e.nights import told as report_text

NAME = "rhyming"
STORY, CODE = "creative", "code"


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(sqlite, tmp_path)
    yield house
    house.close()


def live_a_day(house: House, day: int) -> None:
    """Stories are good with the skill, and half of them without; in code it gets in the way."""
    for task, use in ((STORY, Use.CREATIVE), (CODE, Use.CONVERSATION)):
        calls = (served("dear", purpose=use, task_type=task),)
        for number in range(16):
            mine, others = ((NAME,), ()) if number % 4 else ((), (NAME,))
            is_good = (number // 4 + day) % 2 == 0
            if mine:
                is_good = number % 8 < 7 if task == STORY else number % 4 == 1
            name = f"{task}-{day}-{number}"
            lived(house, 1, good=is_good, name=name, served=calls, given=mine, held=others)


def shown(house: House) -> Experiment:
    found = experiments_for_insight(house.runtime, "crab").items
    return next(each for each in found if each.subject == f"skill:{NAME}")


def test_a_skill_that_helps_with_stories_and_hinders_code_is_kept_for_stories(house: House) -> None:
    learner(house)
    learnt(house, NAME)
    told = [shown(house)]
    for day in range(40):
        live_a_day(house, day)
        house.clock.advance(86_400)
        review_agent_now(house.runtime, "crab", "daily")
        if skill(house, NAME).status is not SkillStatus.CANDIDATE:
            break
        told.append(shown(house))
    assert (told[0].state, told[0].reason) == ("running", "too_little_data")
    assert {each.reason for each in told[1:]} == {"undecided"}
    last = told[-1].by_task
    assert (last[STORY].points or 0) > 0 > (last[CODE].points or 0)
    assert all((each.points or 0) < (each.high or 0) for each in last.values())
    assert all((each.withheld_percent or 0) <= 50 for each in told[2:]), "not half of its turns"

    kept = skill(house, NAME)
    (made,) = page_of_adjustments(house.home.facts, "crab")[:1]
    assert kept.status is SkillStatus.ACTIVE
    assert (made.subject, made.reason) == (NAME, "helps_some")
    assert made.after == {"status": "active", "only": [STORY]}
    fact = house.home.facts.get("crab", SKILL_HOLDOUTS, CURRENT)
    assert fact is not None
    held = fact.read(SkillHoldouts)
    for turn in map(str, range(20)):
        assert NAME in draw_learned_skill_holdouts(mind(house), held, turn, CODE, 100)
        assert NAME not in draw_learned_skill_holdouts(mind(house), held, turn, STORY, 100)
    assert "active, only for creative" in told_report(house)


def test_each_night_stores_anew_how_often_a_skill_is_withheld_from_then_on(house: House) -> None:
    learner(house)
    learnt(house, NAME)
    lived(house, 14, good=True, given=(NAME,))
    lived(house, 14, good=False, held=(NAME,))
    shares = list[object]()
    for _ in range(2):
        house.clock.advance(86_400)
        review_agent_now(house.runtime, "crab", "daily")
        fact = house.home.facts.get("crab", SKILL_HOLDOUTS, CURRENT)
        assert fact is not None
        held = fact.read(SkillHoldouts)
        assert held.at == house.clock.now()
        shares.append(held.shares)
    assert shares[0] == shares[1], "also where they are the same"
    assert len(house.home.facts.page("crab", SKILL_HOLDOUTS)) == 3


def told_report(house: House) -> str:
    """The report of the last night."""
    day = (house.clock.now() - timedelta(days=1)).date()
    return report_text(house, day.isoformat())
