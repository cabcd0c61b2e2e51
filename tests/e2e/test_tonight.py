"""The night of the page "What will it do tonight?", lived through, and compared with its table."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest

from opencrab.actions import GROUPS, Registry
from opencrab.adapters.providers.scripted.model import Scripted
from opencrab.adapters.skill_files import FileSkills
from opencrab.domain.agents.agent import Agent, Identity, Profile
from opencrab.domain.agents.heartbeat import Heartbeat
from opencrab.domain.agents.soul import Soul
from opencrab.domain.money.budget import Price
from opencrab.domain.usage.ledger import UsageRow
from opencrab.domain.value import Language
from opencrab.engine.agents.settings import change_agent
from opencrab.ports.models.model import ChatModel
from tests.conftest import ROOT
from tests.contract.homes import sqlite
from tests.e2e.beating import minutes, tell
from tests.e2e.house import House

EVENING = datetime(2026, 1, 5, 20, 0, tzinfo=UTC)
PRICE = Price(input_per_million=1_000_000, output_per_million=5_000_000)
PAGES = {Language.EN: "tonight.md", Language.JA: "tonight.ja.md"}
COSTS = {
    Language.EN: re.compile(r"night costs ([\d.]+) cents"),
    Language.JA: re.compile(r"日本語では([\d.]+)セント"),
}
ORDERS_JA = (
    "beach.md に「浜辺はきれいです」と書いてください。\n"
    "毎晩21時に diary.md に「おやすみなさい」と書いてください。\n"
    "weather.warning が来たら warnings.md に「気をつけて」と書いてください。"
)


def page(language: Language) -> str:
    return (ROOT / "docs/explanation" / PAGES[language]).read_text(encoding="utf-8")


def orders(language: Language) -> str:
    """The instructions of the page, or the same in Japanese."""
    if language is Language.JA:
        return ORDERS_JA
    found = re.search(r'--instructions "(.*?)"', page(language), re.DOTALL)
    assert found is not None
    return found[1]


def night(house: House, language: Language) -> list[UsageRow]:
    """Live through the night; return the model calls, the oldest first."""
    skills = FileSkills(ROOT / "skills")
    house.runtime = replace(house.runtime, skills=skills, actions=Registry(GROUPS, skills))
    house.provider.wrap = lambda model: cast(ChatModel, Scripted(name=model.info.name, price=PRICE))
    house.clock.advance((EVENING - house.clock.now()).total_seconds())
    rowan = Agent(
        id="rowan",
        name="Rowan",
        language=language,
        model="fake:rowan",
        owner="owner",
        purpose="Look after the beach",
        created_at=EVENING,
        updated_at=EVENING,
    )
    soul, identity = Soul(persona_name="Rowan"), Identity(name="Rowan")
    profile = house.home.agents.create(Profile(agent=rowan, soul=soul, identity=identity))
    heartbeat = Heartbeat(instructions=orders(language), enabled=True)
    change_agent(house.runtime, profile, {"heartbeat": heartbeat})
    minutes(house, 190, step=10)
    tell(house, "rowan", type="weather.warning", source="weather", text="storm")
    minutes(house, 530, step=30)
    assert house.clock.now() == EVENING.replace(day=6, hour=8)
    return sorted(house.home.usage.rows("rowan", limit=100), key=lambda row: row.at)


@pytest.mark.parametrize("language", Language)
def test_the_night_goes_as_the_page_says(tmp_path: Path, language: Language) -> None:
    house = House(sqlite, tmp_path)
    try:
        calls = night(house, language)
        files = {info.path for info in house.home.files.list("rowan")}
    finally:
        house.close()
    assert files == {"beach.md", "diary.md", "warnings.md"}
    rows = re.findall(r"^\| (\d\d):(\d\d) \|.*\| (\d) \|$", page(language), re.MULTILINE)
    foretold = [int(hour) * 60 + int(minute) for hour, minute, n in rows for _ in range(int(n))]
    came = [call.at.hour * 60 + call.at.minute for call in calls]
    assert len(came) == len(foretold) == 8
    assert max(abs(told - at) for told, at in zip(foretold, came, strict=True)) <= 1
    cost = COSTS[language].search(page(language))
    assert cost is not None
    assert sum(call.cost for call in calls) / 10_000 == pytest.approx(float(cost[1]), abs=0.06)
