"""A house that learns: two models at different prices, days that pass, and skills on trial."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from opencrab.adapters.providers.scripted.model import Scripted
from opencrab.adapters.providers.scripted.script import ScriptedAnswer
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.access.authority import Scope
from opencrab.domain.learning.settings import TrialSettings
from opencrab.domain.learning.signals import SIGNALS, TurnSignals
from opencrab.domain.money.budget import FREE, Usage
from opencrab.ports.models.model import ChatModel
from tests.integration.rest.house import House
from tests.integration.rest.thinking import PRICE, Thinking

MONDAY = datetime(2026, 11, 16, 9, tzinfo=UTC)
DAY = 86_400.0
USAGE = Usage(input_tokens=1_000, output_tokens=100)
TRIALS = TrialSettings(skill_percent=50, memory_percent=10, least_turns=10, most_turns=60)
SKILL = {
    "name": "good-questions",
    "description": "質問のしかた",
    "situation_pattern": "質問",
    "guidance": "「なぜ」と尋ねる。",
}


@dataclass
class Pair(Thinking):
    """A cheap model and a dear one, both of which answer."""

    dear: ChatModel = field(default_factory=Scripted)

    def get(self, name: str | None) -> ChatModel:
        full = self.routing.aliases.get(name or "", name or self.routing.default)
        return self.dear if full == "openai:dear" else super().get(name)


class School(House):
    """An installation whose clock the test moves, and in which much is tried out."""

    def __init__(self, folder: Path, trials: TrialSettings = TRIALS) -> None:
        super().__init__(folder)
        self.clock = FakeClock(MONDAY)
        said = (ScriptedAnswer(text="はい", usage=USAGE),) * 500
        pair = Pair(self.runtime.home.preferences)
        pair.model = Scripted(said, price=FREE)
        pair.dear = Scripted(said, name="openai:dear", price=PRICE)
        self.furnish(
            clock=self.clock,
            models=pair,
            directory=pair,
            rules=replace(self.runtime.rules, trials=trials),
        )
        self.owner, self.chat, self.read = (self.key(scope)[0] for scope in reversed(Scope))

    def pupil(self, name: str, *, language: str = "ja", **aim: Any) -> tuple[str, str]:
        """An agent with a skill on trial, and a session with it."""
        agent = self.agent(name, language=language)
        self.made(f"/agents/{agent}/skills", SKILL | {"trial": True})
        body = {"model": "scripted:rules", "aim": aim}
        assert self.call("PUT", f"/agents/{agent}/llm/config", body).status_code == 200
        return agent, self.session(agent)

    def lesson(self, agent: str, session: str, turns: int) -> None:
        """Turns half an hour apart, of which those are liked in which the skill was part."""
        for number in range(turns):
            (turn,) = self.say(session, f"質問 {number}")
            self.work()
            (told,) = self.runtime.home.facts.page(agent, SIGNALS, limit=1, newest_first=True)
            thumbs = "up" if told.read(TurnSignals).given else "down"
            self.made(f"/turns/{turn}/feedback", {"thumbs": thumbs})
            self.clock.advance(1_860)

    def next_day(self) -> None:
        """Go on to the next morning."""
        now = self.clock.now()
        self.clock.advance(DAY - (now - now.replace(hour=9, minute=0)).total_seconds())
