"""Analytics over REST: real turns, a night, and what their owner reads of it."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from opencrab.adapters.providers.scripted.model import Scripted
from opencrab.adapters.providers.scripted.script import ScriptedAnswer, ScriptedCall
from opencrab.domain.document import Document, new_fact
from opencrab.domain.learning.evidence import (
    EVIDENCE,
    Evidence,
    GradedTurns,
    MemoryHits,
    TreatedAndControl,
)
from opencrab.domain.learning.signals import SIGNALS, TurnSignals
from opencrab.domain.memory.knowledge_graph import KnowledgeEdge, KnowledgeNode
from opencrab.domain.memory.memory import IMPRESSION, Impression
from opencrab.domain.money.budget import FREE
from opencrab.domain.statistics.confidence import MomentSums
from opencrab.domain.turn.turn import Trigger, TurnStatus
from opencrab.engine.insight.measures import MOST_TURNS
from opencrab.ports.usage.ledger import UsageLedger
from tests.integration.rest.house import House, problem
from tests.integration.rest.learning import DAY, MONDAY, USAGE, Pair, School
from tests.integration.rest.thinking import PRICE
from tests.linking import link

PARTS = ("usage", "skills", "llm", "memory")
TURNS = 24


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[School, str]]:
    """An agent's day with its night."""
    school = School(tmp_path_factory.mktemp("school"))
    agent, session = school.pupil("葵", leave="recommend")
    school.lesson(agent, session, TURNS)
    school.next_day()
    school.made(f"/agents/{agent}/meta/runs", {"period": "daily"})
    yield school, agent
    school.close()


def told_of(agent: str, at: datetime) -> Document:
    """What a turn told that ended then."""
    told = TurnSignals(
        turn_id="t",
        session_id="s",
        at=at,
        trigger=Trigger.MESSAGE,
        status=TurnStatus.COMPLETED,
        spoke=True,
    )
    return new_fact(agent, SIGNALS, told.id, told)


def told(lived: tuple[School, str], part: str) -> Any:
    """What one part of the analytics says."""
    school, agent = lived
    return school.got(f"/agents/{agent}/analytics/{part}")


@pytest.mark.parametrize("language", ["ja", "en"])
def test_where_nothing_happened_nothing_is_made_up(shared: House, language: str) -> None:
    agent = shared.agent("Ada", language=language)
    usage, skills, llm, memory = (shared.got(f"/agents/{agent}/analytics/{p}") for p in PARTS)
    assert {each["as_of"] for each in (usage, skills, llm, memory)} == {None}
    assert {each["reason"] for each in (skills, llm, memory)} == {"too_little_data"}
    assert usage["turns"]["spoke_a_day"] is None
    assert (usage["days"], usage["weeks"], usage["models"]) == ([], [], [])
    assert (usage["totals"]["quality"], usage["totals"]["success_rate"]) == (None, None)
    assert (skills["skills"], llm["weeks"], llm["analysis"]["recommendations"]) == ([], [], [])
    assert memory["recalled"]["junk_rate"] is None
    assert memory["effect"]["points"] is None


def test_a_day_is_told_by_calls_turns_speech_and_what_began_them(
    lived: tuple[School, str],
) -> None:
    usage = told(lived, "usage")
    assert usage["as_of"] == "2026-11-16"
    (day,) = usage["days"]
    assert day == {
        "day": "2026-11-16",
        "calls": TURNS,
        "failed": 0,
        "cost_micro_usd": 0,
        "turns": TURNS,
        "spoke": TURNS,
    }
    assert usage["weeks"] == [{"week": "2026-W47", "calls": TURNS, "cost_micro_usd": 0}]
    assert usage["models"][0]["share_of_cost"] is None
    assert usage["turns"]["triggers"] == {"message": TURNS}
    assert usage["turns"]["complete"]
    assert usage["totals"]["input_tokens"] == TURNS * USAGE.input_tokens


@pytest.mark.parametrize("language", ["ja", "en"])
def test_what_a_person_says_of_an_answer_now_is_seen_now(tmp_path: Path, language: str) -> None:
    school = School(tmp_path)
    agent, session = school.pupil("葵", language=language)
    (turn,) = school.say(session, "こんにちは")
    school.work()
    before = school.got(f"/agents/{agent}/analytics/llm?period=last_hour")
    assert before["analysis"]["quality_by_model"] == {}
    school.made(f"/turns/{turn}/feedback", {"thumbs": "up"})
    found = school.got(f"/agents/{agent}/analytics/llm?period=last_hour")
    known = found["analysis"]["quality_by_model"]["scripted:rules"]
    assert (known["n"], known["mean"], found["as_of"]) == (1, 1.0, "2026-11-16")
    assert found["analysis"]["by_model"]["scripted:rules"]["quality"] == known
    assert found["analysis"]["totals"]["calls"] == 1
    usage = school.got(f"/agents/{agent}/analytics/usage?period=last_hour")
    assert usage["totals"]["quality"] == known


def test_the_last_hour_is_told_by_hours_and_days_without_turns_stay_unknown(
    lived: tuple[School, str],
) -> None:
    school, agent = lived
    hour = school.got(f"/agents/{agent}/analytics/usage?period=last_hour")
    assert (hour["totals"]["calls"], hour["days"]) == (0, [])
    assert hour["since"] == "2026-11-17T08:00:00Z"
    day = school.got(f"/agents/{agent}/analytics/usage?period=last_day")
    assert 0 < day["totals"]["calls"] <= TURNS


def test_a_skill_is_told_with_its_effect_in_points_and_its_interval(
    lived: tuple[School, str],
) -> None:
    skills = told(lived, "skills")
    (skill,) = skills["skills"]
    effect = skill["effect"]
    assert skill["status"] == "active"
    assert 0 < effect["low"] < effect["points"] < effect["high"] < 100
    assert effect["given"] + effect["held"] == TURNS
    assert skill["uses"] == effect["given"]
    (task,) = skill["by_task"].values()
    assert 0 < task["low"] < task["points"]
    assert skill["trial"] is None
    (week,) = skills["weeks"]
    assert (week["learned"], week["promoted"], week["retired"]) == (1, 1, 0)
    assert skills["reason"] is None


def test_quality_is_told_with_its_interval_by_model_task_and_week(
    lived: tuple[School, str],
) -> None:
    llm = told(lived, "llm")
    quality = llm["analysis"]["quality_by_model"]["scripted:rules"]
    assert quality["n"] == TURNS
    assert quality["low"] < quality["mean"] < quality["high"]
    assert llm["weeks"] == [
        {"week": "2026-W47", "turns": TURNS, "judged": TURNS, "quality": quality, "reason": None}
    ]
    task = llm["analysis"]["tasks"]["conversation/conversation/scripted:rules"]
    assert (task["cost_efficiency"], llm["reason"]) == ("free", None)


def test_a_turn_that_acts_and_then_answers_is_one_turn_of_its_model(tmp_path: Path) -> None:
    school = School(tmp_path)
    agent, session = school.pupil("葵", explore=0.0)
    acts, says = ScriptedAnswer(calls=(ScriptedCall("ws_list", {}),)), ScriptedAnswer(text="はい")
    cast(Pair, school.runtime.models).model = Scripted((acts, says) * 4, price=FREE)
    school.lesson(agent, session, 4)
    school.next_day()
    school.made(f"/agents/{agent}/meta/runs", {"period": "daily"})
    found = school.got(f"/agents/{agent}/analytics/llm")
    school.close()
    analysis = found["analysis"]
    assert analysis["totals"]["calls"] == 8
    assert set(analysis["by_purpose"]) == {"conversation"}
    quality = found["weeks"][0]["quality"]
    assert quality["n"] == 4
    assert analysis["totals"]["quality"] == quality
    assert analysis["quality_by_model"] == {"scripted:rules": quality}
    shown = (*analysis["by_model"].values(), *analysis["by_purpose"].values())
    assert [each["quality"] for each in shown] == [quality] * 2


def test_groups_and_focus_are_as_they_are_asked_for(lived: tuple[School, str]) -> None:
    found = told(lived, "llm?period=all&group_by=task_type&focus=cost")["analysis"]
    assert (found["period"], found["focus"]) == ("all", "cost")
    assert list(found["groups"]) == ["conversation"]


def test_what_hangs_on_what_is_told_in_pages_people_first(lived: tuple[School, str]) -> None:
    school, agent = lived
    facts = school.runtime.home.facts
    crab, sea = (KnowledgeNode(id="", label=label, updated_at=MONDAY) for label in ("蟹", "sea"))
    link(
        facts,
        agent,
        crab,
        KnowledgeEdge(origin="", target="", relation="lives_in", updated_at=MONDAY),
        sea,
    )
    known = Impression(
        target_id="p1", target_name="美香", agreement="中立", created_at=MONDAY, updated_at=MONDAY
    )
    facts.commit(new_fact(agent, IMPRESSION, "p1", known))
    page = told(lived, "memory?limit=2")
    graph = page["graph"]
    assert (graph["nodes_in_all"], graph["edges_in_all"], len(graph["nodes"])) == (2, 1, 2)
    (person,) = graph["people"]
    assert (person["name"], person["agreement"], person["trust"]) == ("美香", "中立", None)
    rest = told(lived, f"memory?limit=2&cursor={page['next_cursor']}")
    assert [edge["relation"] for edge in rest["graph"]["edges"]] == ["lives_in"]
    assert (rest["graph"]["people"], rest["next_cursor"]) == ([], None)


def test_junk_and_what_an_agents_own_grades_are_worth_are_told(lived: tuple[School, str]) -> None:
    school, _ = lived
    agent, at = school.agent("Ben"), school.clock.now()
    good, bad = (MomentSums(n=30, total=total, squares=total) for total in (24.0, 6.0))
    evidence = Evidence(
        recalled={
            "m1": MemoryHits(found=4, useful=0, at=at),
            "m2": MemoryHits(found=2, useful=0, at=at),
            "m3": MemoryHits(found=9, useful=3, at=at),
            "m4": MemoryHits(found=9, useful=0, at=at - timedelta(days=31)),
        },
        memories=TreatedAndControl(given=good, held=bad),
        grades={"scripted:rules": (*(GradedTurns(),) * 4, GradedTurns(grades=good, worth=bad))},
    )
    school.runtime.home.facts.commit(new_fact(agent, EVIDENCE, "2026-11-16", evidence))
    memory = school.got(f"/agents/{agent}/analytics/memory")
    recalled, effect = memory["recalled"], memory["effect"]
    assert recalled["useless"] == [{"id": "m1", "found": 4}]
    assert (recalled["junk"], recalled["junk_rate"]) == (1, pytest.approx(1 / 3))
    assert 0 < effect["low"] < effect["points"] < effect["high"] < 60
    curve = school.got(f"/agents/{agent}/analytics/llm")["calibration"]["scripted:rules"]
    assert (curve["points"][0]["said"], curve["points"][0]["came_to"]) == (0.8, 0.2)


def test_a_dear_models_share_of_the_cost_is_told(lived: tuple[School, str]) -> None:
    school, _ = lived
    agent = school.agent("Ada")
    school.call("PUT", f"/agents/{agent}/llm/config", {"model": "openai:dear"})
    session = school.session(agent)
    for number in range(2):
        school.say(session, f"hello {number}")
        school.work()
    usage = school.got(f"/agents/{agent}/analytics/usage")
    cost = 2 * PRICE.cost(USAGE)
    assert usage["weeks"][0]["cost_micro_usd"] == usage["days"][0]["cost_micro_usd"] == cost > 0
    assert usage["models"][0]["share_of_cost"] == 1.0


def test_what_is_shown_never_comes_from_single_calls(lived: tuple[School, str]) -> None:
    school, agent = lived
    home = school.runtime.home
    places = [f"analytics/{part}" for part in PARTS]
    school.furnish(home=replace(home, usage=cast(UsageLedger, None)))
    try:
        for place in (*places, "experiments", "changes"):
            assert school.call("GET", f"/agents/{agent}/{place}").status_code == 200
    finally:
        school.furnish(home=home)


def test_of_very_many_turns_only_whole_days_are_told(lived: tuple[School, str]) -> None:
    school, _ = lived
    agent, now = school.agent("多忙"), school.clock.now()
    school.clock.advance(DAY * 3)
    facts = [told_of(agent, now + timedelta(minutes=2 * n)) for n in range(MOST_TURNS + 1)]
    for n in range(0, len(facts), 25):
        school.runtime.home.facts.commit(*facts[n : n + 25])
    usage = school.got(f"/agents/{agent}/analytics/usage")
    assert (usage["turns"]["turns"], usage["turns"]["complete"]) == (MOST_TURNS, False)
    first, second, *_ = usage["days"]
    assert (first["turns"], first["spoke"]) == (None, None)
    assert second["turns"] == second["spoke"] > 0


def test_days_whose_turns_are_kept_no_more_keep_their_calls(tmp_path: Path) -> None:
    school = School(tmp_path)
    agent, session = school.pupil("葵")
    for days in (45, 0):
        school.lesson(agent, session, 1)
        school.clock.advance(days * DAY)
    usage = school.got(f"/agents/{agent}/analytics/usage?period=all")
    school.close()
    assert [(day["calls"], day["turns"]) for day in usage["days"]] == [(1, None), (1, 1)]
    assert (usage["turns"]["turns"], usage["turns"]["complete"]) == (1, False)


@pytest.mark.parametrize(
    ("part", "field"),
    [
        ("usage?period=last_year", "period"),
        ("llm?period=", "period"),
        ("llm?group_by=mood", "group_by"),
        ("llm?purpose=x", None),
        ("memory?cursor=bm9kZQ", "cursor"),
        ("memory?limit=0", "limit"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    lived: tuple[School, str], part: str, field: str | None
) -> None:
    school, agent = lived
    problem(school.call("GET", f"/agents/{agent}/analytics/{part}"), 422, field)


@pytest.mark.parametrize("part", PARTS)
def test_nobody_has_no_analytics(shared: House, part: str) -> None:
    problem(shared.call("GET", f"/agents/nobody/analytics/{part}"), 404)
