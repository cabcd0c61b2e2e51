"""A house whose agent has a day behind it that a model is to put into words."""

from contextlib import suppress
from typing import Any

from opencrab.domain.agents.agent import Agent
from opencrab.domain.errors import NotFound
from opencrab.domain.identifier import stable_id
from opencrab.domain.insight.report_wording import WORDING, ReportWording
from opencrab.domain.turn.turn import Turn
from tests.crash.outside import Reply
from tests.e2e.house import House
from tests.e2e.nights import learner, lived

SAID = "I did well: 12 turns were judged. Quality is at 100 %, and nothing was wasted."
SAID_JA = "12ターンを評価できました。品質は100%で、無駄はありませんでした。"
HEAD, HEAD_JA = "## In its own words", "## 自分の言葉で"
DAY = "daily-2026-01-05"


def worded(house: House, reply: Reply, **aim: Any) -> Agent:
    """An agent with a day behind it, whose report a scribe words."""
    agent = learner(house, worded=True, **aim)
    house.scripts["scribe"] = (reply,)
    agent = house.home.agents.save(agent.replaced(model="fake:scribe"))
    lived(house, 12, good=True)
    house.clock.advance(86_400)
    return agent


def turns(house: House) -> list[Turn]:
    """The turns that word the reports of the first two days, and the first week."""
    found = list[Turn]()
    for period in (DAY, "daily-2026-01-06", "weekly-2026-W02"):
        with suppress(NotFound):
            found.append(house.turn(stable_id("words", "crab", period)))
    return found


def wording(house: House) -> ReportWording:
    """What became of the words for the first day."""
    fact = house.home.facts.get("crab", WORDING, DAY)
    assert fact is not None
    return fact.read(ReportWording)
