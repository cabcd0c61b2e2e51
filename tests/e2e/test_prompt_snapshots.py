"""One whole prompt of each kind in both languages, as it is, for whoever changes one to read.

After a change on purpose, `python -m tests.e2e.test_prompt_snapshots` writes them anew: read the
difference.
"""

import json
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from opencrab.actions import GROUPS, Registry
from opencrab.adapters.skill_files import FileSkills
from opencrab.domain.agents.agent import Agent
from opencrab.domain.agents.heartbeat import Heartbeat
from opencrab.domain.agents.soul import Personality, Soul
from opencrab.domain.conversation.session import Mode
from opencrab.domain.goals.goal import GOAL, Goal
from opencrab.domain.value import Language
from opencrab.engine.goals.generation import generate_exploration_goal
from opencrab.ports.models.model import ChatMessage, ChatRequest
from tests.conftest import ROOT
from tests.contract.homes import sqlite
from tests.crash.errand import RICH
from tests.crash.outside import Reply
from tests.e2e import instructed
from tests.e2e.house import House
from tests.e2e.test_own_prompts import IDS, ORDERS, PURPOSES, live
from tests.e2e.wanting import begins

FOLDER = Path(__file__).with_name("prompts")
SAID = {
    Language.EN: ("What do crabs eat?", "And where do they live?", "Sort my notes on crabs"),
    Language.JA: ("カニは何を食べますか?", "どこに住んでいますか?", "カニのメモを整理して"),
}


def furnished(house: House) -> None:
    """Let the house offer what the product offers."""
    skills = FileSkills(ROOT / "skills")
    house.runtime = replace(house.runtime, skills=skills, actions=Registry(GROUPS, skills))


def shaped(house: House, name: str, language: Language, **changes: Any) -> Agent:
    """Give an agent a character and a purpose."""
    profile = house.home.agents.get(name)
    agent = house.home.agents.save(
        profile.agent.replaced(purpose=PURPOSES[language], **changes),
        soul=Soul(persona_name=name, personality=Personality(openness=0.8)),
    )
    furnished(house)
    return agent


@cache
def own(language: Language) -> dict[str | None, ChatRequest]:
    """The first request in a turn of the agents' own about a goal of each source, in one life."""
    with TemporaryDirectory() as folder, closing(House(sqlite, Path(folder), RICH)) as house:
        asked = live(house, language)
        stored = (fact for who in IDS for fact in house.home.facts.page(who, GOAL, limit=200))
        goals = {(goal.agent_id, goal.id): goal for goal in (fact.read(Goal) for fact in stored)}
    found: dict[str | None, ChatRequest] = {}
    for each in asked:
        served = None if each.goal_id is None else goals[each.agent_id, each.goal_id].source.value
        found.setdefault(served, each.request)
    return found


def chat(house: House, language: Language) -> ChatRequest:
    house.session(house.agent("crab", (Reply("…"),), language))
    shaped(house, "crab", language)
    for number, said in enumerate(SAID[language][:2]):
        house.say(said, f"m{number}")
        house.work()
    return house.provider.seen[-1]


def task(house: House, language: Language) -> ChatRequest:
    instructed.crab(house, language)
    shaped(house, "crab", language)
    instructed.instruct(house, SAID[language][2])
    instructed.carried(house, 2)
    named = ("[Task G1-T1", "タスク G1-T1")
    return next(each for each in house.provider.seen if any(x in last(each) for x in named))


def curiosity(house: House, language: Language) -> ChatRequest:
    house.agent("crab", (Reply("…"),), language)
    shaped(house, "crab", language, heartbeat=Heartbeat(instructions=ORDERS[language]))
    begins(house, generate_exploration_goal)
    house.work()
    return house.provider.seen[0]


def discussion(house: House, language: Language) -> ChatRequest:
    both = [house.agent(name, (Reply(f"{name}…"),), language) for name in ("crab", "shrimp")]
    house.session(*both, mode=Mode.AUTONOMOUS, hop_limit=6, theme="beach")
    shaped(house, "crab", language)
    house.say(SAID[language][0])
    house.work()
    house.later(61)
    return house.provider.seen[-1]


KINDS: dict[str, Callable[[House, Language], ChatRequest]] = {
    "chat": chat,
    "task": task,
    "curiosity": curiosity,
    "discussion": discussion,
    "role": lambda _, language: own(language)["role"],
    "social": lambda _, language: own(language)["social"],
    "opportunity": lambda _, language: own(language)["opportunity"],
    "event": lambda _, language: own(language)[None],
}


def last(request: ChatRequest) -> str:
    found = request.turns[-1]
    assert isinstance(found, ChatMessage)
    return found.text


def drawn(request: ChatRequest) -> str:
    """A request as text: the names of its actions, and all its words."""
    parts = ["actions: " + " ".join(action.name for action in request.actions)]
    parts.append(f"--- system\n{request.system}")
    for turn in request.turns:
        if isinstance(turn, ChatMessage):
            calls = [f"{call.name} {json.dumps(call.arguments)}" for call in turn.calls]
            parts.append("\n".join((f"--- {turn.role}", *filter(None, (turn.text, *calls)))))
        else:
            parts.append(f"--- result of {turn.name}\n{turn.content}")
    return "\n".join(parts) + "\n"


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("kind", KINDS)
def test_a_prompt_of_each_kind_is_as_it_was_read_last(
    tmp_path: Path, kind: str, language: Language
) -> None:
    house = House(sqlite, tmp_path, RICH)
    try:
        text = drawn(KINDS[kind](house, language))
    finally:
        house.close()
    stored = (FOLDER / f"{kind}.{language}.txt").read_text(encoding="utf-8")
    assert text == stored, "on purpose? python -m tests.e2e.test_prompt_snapshots"


def write() -> None:
    """Write the prompts of all kinds anew."""
    for kind, asks in KINDS.items():
        for language in Language:
            with TemporaryDirectory() as folder:
                house = House(sqlite, Path(folder), RICH)
                text = drawn(asks(house, language))
                house.close()
            (FOLDER / f"{kind}.{language}.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
