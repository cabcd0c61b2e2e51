"""A week against a real llama.cpp server: what its ledger tells, its report, and another model."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import pytest

from opencrab.actions import speech
from opencrab.adapters.local_files import LocalBlobs, LocalFiles
from opencrab.adapters.providers.catalogue.configuration import ModelsSettings
from opencrab.adapters.providers.registry import ProviderModels
from opencrab.adapters.providers.transport.http_connections import HttpConnections
from opencrab.adapters.providers.transport.http_transport import HttpTransport
from opencrab.adapters.sqlite.home import open_sqlite_home
from opencrab.adapters.system_clock import FakeClock, SystemClock
from opencrab.bootstrap.consequences import CONSEQUENCES
from opencrab.bootstrap.jobs import JOBS
from opencrab.domain.agents.agent import Agent, Identity, Profile
from opencrab.domain.agents.soul import Soul
from opencrab.domain.conversation.session import Participant, Session
from opencrab.domain.learning.review_period import ReviewResult
from opencrab.domain.models.optimization import Aim, LearningMode
from opencrab.domain.models.routing import LlmConfig, Use
from opencrab.domain.money.budget import Price
from opencrab.domain.statistics.confidence import estimate_mean
from opencrab.domain.usage.ledger import Period, UsageRow
from opencrab.domain.value import Language
from opencrab.engine.insight.what_if import WhatIf, what_if
from opencrab.engine.learning import feedback
from opencrab.engine.learning.nightly.run import review_agent_now
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.admission import admit_turns_of_message
from opencrab.engine.turn.run import Pace, run_turn
from opencrab.ports.turn.queue import MessageOutcome
from tests.crash.outside import Bell, registry
from tests.crash.scenarios import message
from tests.llama.asking import ANTHROPIC, MODEL, OPENAI, Parting
from tests.llama.server import LlamaServer
from tests.saved_evidence import saved_evidence

pytest_plugins = ["tests.llama.fixture"]

MONDAY = datetime(2026, 11, 16, 9, tzinfo=UTC)
DAY = 86_400.0
DAYS, TURNS = 2, 2
PRICE = Price(input_per_million=250_000, output_per_million=2_000_000)
SMART, FAST = f"anthropic:{MODEL}", f"llamacpp:{MODEL}"


class Days(FakeClock):
    """Days pass when the test says so; how long the server takes is real."""

    def monotonic_ms(self) -> float:
        return SystemClock().monotonic_ms()


def _settings(server: LlamaServer) -> ModelsSettings:
    """One server under two names: one free, and one that costs money."""
    free, paid = OPENAI.settings(server), ANTHROPIC.settings(server)
    short = replace(free.models[FAST], max_output_tokens=40)
    known = free.with_provider(paid.providers["anthropic"]).with_model(FAST, short)
    known = known.with_model(SMART, replace(short, price=PRICE))
    aliases = {"smart": SMART, "fast": FAST}
    return replace(known, aliases=aliases, selectable=("fast", "smart"), default="smart")


@dataclass
class Week:
    """An agent that talked on two days of a week, and the runtime behind it."""

    runtime: Runtime
    turns: int = 0

    @property
    def clock(self) -> Days:
        clock = self.runtime.clock
        assert isinstance(clock, Days)
        return clock

    def talk(self, *, liked: bool) -> None:
        """A real turn that a person thinks something of."""
        self.turns += 1
        said = message(f"{self.turns} 匹の蟹について話してください。", f"m{self.turns}", None)
        (turn,) = admit_turns_of_message(self.runtime, "s", said)
        queue = self.runtime.home.turns
        while (delivery := queue.receive(visibility_seconds=600, wait_seconds=0)) is not None:
            assert run_turn(self.runtime, delivery, Pace()) is MessageOutcome.FINISHED
            queue.acknowledge(delivery.receipt)
        thumbs: feedback.Thumbs = "up" if liked else "down"
        feedback.give_feedback(self.runtime, turn.id, by="p", thumbs=thumbs, remark="", key=turn.id)
        self.clock.advance(600)

    def rows(self, model: str) -> list[UsageRow]:
        """The ledger's rows of a model."""
        rows = self.runtime.home.usage.rows("crab", limit=500)
        return [row for row in rows if f"{row.provider}:{row.model}" == model]

    def report(self, name: str) -> str:
        """A learning report."""
        return self.runtime.home.files.read("crab", f"reports/learning/{name}")[1].decode()


@pytest.fixture(scope="module")
def week(seeded: LlamaServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Week]:
    """Days with the smart model and one turn with the fast one, and the nights after them."""
    folder, clock = tmp_path_factory.mktemp("week"), Days(MONDAY)
    files, blobs = LocalFiles(folder / "agents"), LocalBlobs(folder)
    home, database = open_sqlite_home(folder, clock, files=files, blobs=blobs, durable=False)
    with HttpConnections() as client:
        transport = Parting(HttpTransport(client))
        models = ProviderModels(lambda: _settings(seeded), lambda: transport)
        runtime = Runtime(
            home,
            clock,
            models,
            registry(Bell(), (speech.group,)),
            directory=models,
            consequences=CONSEQUENCES,
            jobs=JOBS,
        )
        llm = LlmConfig(aim=Aim(leave=LearningMode.APPLY))
        agent = Agent(
            id="crab",
            name="蟹",
            language=Language.JA,
            llm=llm,
            created_at=MONDAY,
            updated_at=MONDAY,
        )
        soul, identity = Soul(persona_name="蟹"), Identity(name="蟹")
        home.agents.create(Profile(agent=agent, soul=soul, identity=identity))
        people = (Participant(agent_id="crab"),)
        home.sessions.create(
            Session(
                id="s", participants=people, created_by="p", created_at=MONDAY, updated_at=MONDAY
            )
        )
        lived = Week(runtime)
        for day in range(DAYS):
            for number in range(TURNS):
                lived.talk(liked=number < TURNS - 1)
            if day == 0:
                home.agents.save(home.agents.get("crab").agent.replaced(model=FAST))
                lived.talk(liked=True)
                home.agents.save(home.agents.get("crab").agent.replaced(model=None))
            now = clock.now()
            clock.advance(DAY - (now - now.replace(hour=9, minute=0)).total_seconds())
            review_agent_now(runtime, "crab", "daily")
        yield lived
    database.close()


@pytest.fixture(scope="module")
def sunday(week: Week) -> ReviewResult:
    """The look at the whole week, once it is over."""
    week.clock.advance(DAY * (7 - DAYS))
    return review_agent_now(week.runtime, "crab", "weekly")


def test_the_weekly_report_tells_what_the_ledger_says(week: Week, sunday: ReviewResult) -> None:
    smart, fast = week.rows(SMART), week.rows(FAST)
    spent = sum(row.cost for row in smart)
    assert sunday.report == (
        "reports/learning/2026-W47.md",
        "reports/learning/2026-W47.ja.md",
    )
    assert (sunday.period, sunday.turns, sunday.judged) == (
        "weekly-2026-W47",
        week.turns,
        week.turns,
    )
    assert sunday.spent_micro_usd == spent > 0
    assert (spent, 0) == (
        sum(PRICE.cost(row.usage) for row in smart),
        sum(row.cost for row in fast),
    )
    english, japanese = week.report("2026-W47.md"), week.report("2026-W47.ja.md")
    for name, rows in ((SMART, smart), (FAST, fast)):
        assert f"`{name}`: {len(rows)} calls, 0 failed" in english
        assert f"`{name}`: 呼び出し {len(rows)} 回(失敗 0 回)" in japanese
    assert f"{spent / 1_000_000:.4f} USD" in english
    # Whether a turn has a second call is this model's chance: the ledger says how many have.
    turns = defaultdict[str, set[str]](set)
    for row in (*smart, *fast):
        turns[f"{row.purpose}/{row.task_type}/{row.provider}:{row.model}"].add(row.turn_id)
    assert len(turns[f"conversation/conversation/{SMART}"]) == DAYS * TURNS
    for key, told in saved_evidence(week.runtime.home.facts, "crab").models.items():
        quality = estimate_mean(told.quality)
        assert quality is not None
        assert quality.n == len(turns[key])
        subject, _, name = key.rpartition("/")
        assert f"- {subject}, `{name}`: {quality.mean:.0%}".replace("%", " % (") in english


def _what_if(week: Week, **aliases: str) -> WhatIf:
    return what_if(week.runtime, "crab", aliases, Period.LAST_MONTH)


def test_the_same_week_with_the_free_model_costs_nothing(week: Week, sunday: ReviewResult) -> None:
    found = _what_if(week, smart="fast")
    smart = week.rows(SMART)
    assert (found.calls, found.moved) == (len(smart) + len(week.rows(FAST)), len(smart))
    assert (found.now.cost_micro_usd, found.then.cost_micro_usd) == (sunday.spent_micro_usd, 0)
    assert {task.purpose for task in found.tasks} >= {Use.CONVERSATION}
    assert sum(task.calls for task in found.tasks) == len(smart)
    now, then = found.now.quality, found.then.quality
    assert now is not None
    assert then is not None
    assert (now.n, then.n) == (DAYS * TURNS, 1)
    assert then.mean > now.mean
    assert then.low < 0.01
    assert then.high > 0.99
    assert (found.quality_share, found.latency_share) == (1.0, 1.0)
    assert (found.then.latency_ms or 0) > 0


def test_the_free_models_calls_are_priced_by_their_tokens(week: Week, sunday: ReviewResult) -> None:
    found = _what_if(week, fast="smart")
    cost = sum(PRICE.cost(row.usage) for row in week.rows(FAST))
    assert found.then.cost_micro_usd == sunday.spent_micro_usd + cost
    assert found.saved_micro_usd == -cost < 0
