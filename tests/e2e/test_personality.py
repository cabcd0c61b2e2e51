"""Each number of a soul, flipped: what the product then decides differently, and what not."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from opencrab.domain.agents.agent import Agent, Identity, Profile
from opencrab.domain.agents.heartbeat import Heartbeat
from opencrab.domain.agents.soul import Drives, Personality, SocialStyle, Soul
from opencrab.domain.autonomy.heartbeat_gate import BeatReason, heartbeat_gate
from opencrab.domain.autonomy.settings import Autonomy
from opencrab.domain.conversation.session import Participant, Session
from opencrab.domain.goals.goal import Goal, GoalSource
from opencrab.domain.goals.selection import PROMISES, goal_begins_at
from opencrab.domain.goals.value_estimate import ValueEstimate
from opencrab.domain.value import Language
from opencrab.engine.agents.vital_signs import create_agent_vital_signs
from opencrab.engine.discussion.turn_taking import next_speaker
from opencrab.engine.goals.selection import explain_goal_priorities
from tests.conftest import ROOT
from tests.contract.homes import sqlite
from tests.crash.errand import RICH
from tests.crash.outside import Reply
from tests.e2e.house import START, House

LOW, HIGH = 0.1, 0.9
RIVALS = tuple(step / 20 for step in range(21))
"""Extraversion of agents that want to speak as well."""

BIG_FIVE, DRIVES = tuple(Personality.model_fields), tuple(Drives.model_fields)
AXES = ("assertiveness", "responsiveness")
NUMBERS = (*BIG_FIVE, *AXES, *DRIVES)
SET = Drives(risk_tolerance=0.6)
THRESHOLDS = tuple(step / 4 for step in range(1, 9))


def soul_with(name: str, number: float, drives: Drives | None = None) -> Soul:
    """A soul that is neutral but for one number, given as 0 to 1."""
    soul = Soul(persona_name="蟹", drives=drives)
    if name in BIG_FIVE:
        return soul.replaced(personality=Personality(**{name: number}))
    if name in AXES:
        style: dict[str, Any] = {name: 2 * number - 1}
        return soul.replaced(social_style=SocialStyle(**style))
    return soul.replaced(drives=Drives(**{name: number}))


def wanted_goals() -> list[Goal]:
    """Goals of every promise of the product, and of each worth alone in small steps."""
    worths = list(PROMISES.values())
    for term in ValueEstimate.model_fields:
        nothing = ValueEstimate(expected_reward=0, capability_match=0, novelty=0)
        worths += [nothing.replaced(**{term: step / 20}) for step in range(1, 21)]
    return [
        Goal(
            id=f"G{place}",
            agent_id="crab",
            session_id="s",
            principal_id="owner",
            name="…",
            source=GoalSource.ROLE,
            worth=worth,
            deadline=START + timedelta(days=9),
            created_at=START,
        )
        for place, worth in enumerate(worths, 1)
    ]


def goals(house: House) -> object:
    """The order in which it wants goals, and when each is worth beginning."""
    wanted = wanted_goals()
    scores = explain_goal_priorities(house.runtime, "crab", wanted)
    order = sorted(scores, key=lambda goal_id: -scores[goal_id].priority)
    drives = house.home.agents.get("crab").soul.weights
    return order, [goal_begins_at(goal, 0.5, drives, at) for goal in wanted for at in THRESHOLDS]


def beaten_rivals(house: House) -> int:
    """How many of the rivals, each with the better seat, it speaks before."""
    for place, extraversion in enumerate(RIVALS):
        soul = Soul(persona_name="x", personality=Personality(extraversion=extraversion))
        lives(house, f"rival{place}", soul.replaced(drives=Drives()), Language.EN)
    found = 0
    for place in range(len(RIVALS)):
        both = (f"rival{place}", "crab")
        session = Session(
            id="d",
            participants=tuple(Participant(agent_id=each) for each in both),
            created_by="owner",
            created_at=START,
            updated_at=START,
        )
        found += next_speaker(house.runtime, session, ()) == "crab"
    return found


def patience(house: House) -> int:
    """The cycles without anything new before its heartbeat explores."""
    autonomy = Autonomy()
    signs = create_agent_vital_signs(house.runtime, house.home.agents.get("crab"))
    for cycle in range(100):
        verdict = heartbeat_gate(signs, START + cycle * autonomy.curiosity_interval, autonomy)
        if BeatReason.CURIOSITY in verdict.reasons:
            return cycle
    raise AssertionError("it is never curious")


def lives(house: House, name: str, soul: Soul, language: Language) -> Agent:
    """An agent that acts unasked."""
    house.scripts[name] = (Reply("…"),)
    agent = Agent(
        id=name,
        name=name,
        language=language,
        model=f"fake:{name}",
        owner="owner",
        heartbeat=Heartbeat(instructions="…", enabled=True),
        created_at=START,
        updated_at=START,
    )
    profile = Profile(agent=agent, soul=soul, identity=Identity(name=name))
    return house.home.agents.create(profile).agent


def decisions(tmp_path: Path, soul: Soul, language: Language) -> dict[str, object]:
    """What a new installation decides for an agent with this soul."""
    house = House(sqlite, tmp_path / str(len(list(tmp_path.iterdir()))), RICH)
    try:
        house.session(lives(house, "crab", soul, language))
        house.say("Design a new system / 新しい仕組みを設計して")
        house.work()
        (request,) = house.provider.seen
        return {
            "system text": request.system,
            "model, actions and conversation": (
                request.model,
                request.actions,
                [vars(each) for each in request.turns],
                request.temperature,
            ),
            "goals": goals(house),
            "discussion": beaten_rivals(house),
            "curiosity": patience(house),
        }
    finally:
        house.close()


def changed(tmp_path: Path, low: Soul, high: Soul, language: Language) -> set[str]:
    """The decisions that differ between two souls."""
    one, other = (decisions(tmp_path, soul, language) for soul in (low, high))
    return {what for what, decided in one.items() if decided != other[what]}


def documented(page: str) -> dict[str, set[str]]:
    """The table of the page: what each number changes."""
    text = (ROOT / "docs/explanation" / page).read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \|(.*)\|$", text, re.MULTILINE)
    columns = ("system text", "goals", "discussion", "curiosity")
    return {
        name: {
            column
            for column, cell in zip(columns, cells.split("|"), strict=True)
            if cell.strip() == "yes"
        }
        for name, cells in rows
    }


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_flipped_changes_what_the_page_says_and_nothing_else(
    tmp_path: Path, name: str
) -> None:
    language = list(Language)[NUMBERS.index(name) % 2]
    found = changed(tmp_path, soul_with(name, LOW), soul_with(name, HIGH), language)
    assert found == documented("personality.md")[name]


@pytest.mark.parametrize("name", [*BIG_FIVE, *AXES])
def test_once_drives_are_set_the_other_numbers_act_only_in_the_prompt_and_in_discussions(
    tmp_path: Path, name: str
) -> None:
    low, high = (soul_with(name, number, SET) for number in (LOW, HIGH))
    found = changed(tmp_path, low, high, Language.JA)
    talks = {"discussion"} if name in {"extraversion", "assertiveness"} else set()
    assert found == {"system text"} | talks


def test_both_pages_name_every_number_of_a_soul_alike() -> None:
    assert documented("personality.md") == documented("personality.ja.md")
    assert tuple(documented("personality.md")) == NUMBERS


def test_words_of_a_soul_act_only_in_the_prompt(tmp_path: Path) -> None:
    plain = Soul(persona_name="蟹")
    worded = Soul.model_validate(
        {
            "persona_name": "蟹",
            "thinking_style": {"primary": "大胆", "secondary": "直感的", "description": "海"},
            "social_style": {"style_name": "Amiable"},
            "custom_traits": {"好物": "貝"},
        }
    )
    assert changed(tmp_path, plain, worded, Language.JA) == {"system text"}
