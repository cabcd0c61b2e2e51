"""Mika at her figures: a real home with calls, evidence and models that she may select."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from opencrab.actions import Registry
from opencrab.actions.models import optimize
from opencrab.domain.document import new_fact
from opencrab.domain.learning.evidence import EVIDENCE, Evidence
from opencrab.domain.models.optimization import Aim
from opencrab.domain.models.routing import LlmConfig, Routing
from opencrab.domain.money.budget import Price
from opencrab.domain.turn.action import ActionResult
from opencrab.domain.usage.ledger import UsageRow
from opencrab.domain.value import Language
from tests.contract.example import running, step, usage_row
from tests.unit.actions.knowing import Desk, desk
from tests.unit.engine.known_models import Known, Named

REGISTRY = Registry((optimize.group,))
DEAR, CHEAP = (
    Price(input_per_million=4_000_000, output_per_million=8_000_000),
    Price(input_per_million=1_000_000, output_per_million=2_000_000),
)
ROUTING = Routing(
    default="openai:gpt",
    aliases={
        "smart": "openai:gpt",
        "fast": "openai:mini",
        "home": "ollama:able",
        "secret": "x:outside",
        "mystery": "x:unpriced",
    },
    selectable=("smart", "fast", "mystery"),
)
MODELS = Known(
    (
        Named("openai:gpt", price=DEAR),
        Named("openai:mini", price=CHEAP),
        Named("ollama:able", private=True),
        Named("x:outside"),
        Named("x:unpriced", price=None),
    ),
    ROUTING,
)


@dataclass
class Office:
    """A desk with what is needed to look at models."""

    desk: Desk

    def do(self, name: str, /, **arguments: Any) -> ActionResult:
        """One whole call: prepared, run, and its facts committed."""
        action, at = REGISTRY.find(name), self.desk.at
        assert action is not None
        checked = action.arguments.model_validate(arguments)
        prepared = action.prepare(checked, at) if action.prepare else {}
        result = action.run(checked, replace(at, prepared=prepared))
        if result.facts:
            self.desk.home.facts.commit(*result.facts)
        self.desk.clock.advance(1)
        return result

    def data(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """What a call that succeeds answers."""
        result = self.do(name, **arguments)
        assert result.success, result.error
        return result.data or {}

    def error(self, name: str, /, **arguments: Any) -> str:
        """What a call that fails answers."""
        result = self.do(name, **arguments)
        assert not result.success, result.data
        return result.error or ""

    def call(
        self, n: int = 1, *, turn: str = "t1", at: datetime | None = None, **more: Any
    ) -> UsageRow:
        """A model call of Mika's that has ended, kept and counted."""
        home = self.desk.home
        row = usage_row(
            n,
            at=at or self.desk.clock.now(),
            turn_id=turn,
            **({"agent_id": "mika", "model": "gpt"} | more),
        )
        home.journal.commit(step(running(home, f"of-{turn}-{n}", f"s-{turn}-{n}"), usage=(row,)))
        return row

    def know(self, evidence: Evidence, day: str = "2026-02-16") -> None:
        """A night has told this of a day."""
        self.desk.home.facts.commit(new_fact("mika", EVIDENCE, day, evidence))

    def owned(self, language: Language = Language.JA, **llm: Any) -> None:
        """What Mika's owner says, and in which language she thinks."""
        at = self.desk.at
        agent = at.agent.replaced(llm=LlmConfig(**llm), language=language)
        self.desk.at = replace(at, agent=agent)

    def aim(self, language: Language = Language.JA, **aim: Any) -> None:
        """What she may learn about models."""
        self.owned(language, aim=Aim(**aim))


@contextmanager
def office(folder: Path) -> Iterator[Office]:
    """Mika's, with no call made yet."""
    with desk(folder) as there:
        reach = replace(there.at.reach, models=MODELS)
        there.at = replace(there.at, reach=reach, actions=REGISTRY)
        yield Office(there)
