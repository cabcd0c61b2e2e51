"""Vectors are paid for like every other model call, and whoever cannot pay does without them."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from opencrab.domain.agents.agent import AgentStatus
from opencrab.domain.errors import Exhausted
from opencrab.domain.models.fault import Fault
from opencrab.domain.models.routing import Use
from opencrab.domain.money.budget import FREE, INSTALLATION, Limits, Usage, agent_budget_scope
from opencrab.domain.turn.record import CallState
from opencrab.domain.turn.turn import Trigger, Turn, TurnStatus
from opencrab.domain.usage.ledger import UsageRow
from opencrab.engine.insight.costs import turn_cost_for_insight
from opencrab.engine.memory.embedding import (
    PAUSE_MS,
    REFUSALS,
    EmbeddingModels,
    MeteredEmbedder,
    memory_embedding_reservation,
)
from opencrab.engine.runtime import Rules
from opencrab.ports.turn.journal import TurnChange
from tests.contract.homes import DISTINCT_HOMES, OpenHome, sqlite
from tests.crash.outside import Reply
from tests.e2e.house import House
from tests.meaning import PRICE, Choosing, Vendor, unanswered, vector

TEXTS = ("公園で犬が走った", "A dog ran across the park")
COST = -(-sum(map(len, TEXTS)) * 130_000 // 1_000_000)
DAY = "2026-01-05"


class Buyer:
    """A house whose Mika buys vectors from a vendor."""

    def __init__(self, folder: Path, opens: OpenHome = sqlite, **limits: int) -> None:
        self.vendor = Vendor()
        self.house = House(opens, folder, Rules(limits=Limits(**limits)))
        self.agent = self.house.agent("mika", (Reply("はい。"),))
        self.opened: list[str] = []
        self.embedder = self.made()

    def made(self, **ports: Any) -> MeteredEmbedder:
        made = self.house
        given: dict[str, Any] = {"journal": made.runtime.home.journal, "agents": made.home.agents}
        models = cast(EmbeddingModels, Choosing(made.provider, self.vendor))
        return MeteredEmbedder(
            **{**given, **ports},
            models=models,
            clock=made.clock,
            rules=made.runtime.rules,
            directory=models,
        )

    def buy(self, texts: tuple[str, ...] = TEXTS) -> Any:
        return self.embedder.embed("mika", texts)

    def rows(self) -> tuple[UsageRow, ...]:
        return self.house.home.usage.rows("mika", limit=100)

    def turn(self) -> Turn:
        return self.house.turn(self.rows()[0].turn_id)

    def drawn(self) -> set[int]:
        budgets = self.house.home.budgets
        return {
            budgets.drawn_micro_usd(scope, DAY)
            for scope in (INSTALLATION, agent_budget_scope("mika"))
        }

    def commits(self) -> int:
        return self.house.calls["journal.commit"]


@contextmanager
def buying(folder: Path, opens: OpenHome = sqlite, **limits: int) -> Iterator[Buyer]:
    made = Buyer(folder, opens, **limits)
    try:
        yield made
    finally:
        made.house.close()


@pytest.mark.parametrize("opens", DISTINCT_HOMES, ids=lambda each: each.__name__)
def test_vectors_cost_what_their_vendor_counted(opens: OpenHome, tmp_path: Path) -> None:
    with buying(tmp_path, opens) as at:
        meant = at.buy()
        assert meant is not None
        assert (meant.model, meant.vectors) == ("fake:vectors", tuple(map(vector, TEXTS)))
        (row,) = at.rows()
        turn = at.turn()
        reserved = memory_embedding_reservation(at.vendor.info, TEXTS)
        assert (row.cost, row.reserved, row.price) == (COST, reserved, PRICE)
        assert (row.purpose, row.trigger, row.state) == (
            Use.EMBEDDING,
            Trigger.EMBEDDING,
            CallState.COMPLETED,
        )
        assert (turn.status, turn.spent, turn.allowance) == (TurnStatus.COMPLETED, COST, 0)
        assert sum(block.micro_usd for block in turn.blocks) == reserved
        assert at.drawn() == {COST} == {at.vendor.billed}
        assert turn_cost_for_insight(at.house.runtime, turn.id).adds_up
        assert turn_cost_for_insight(at.house.runtime, turn.id).complete


def test_its_records_tell_nothing_of_the_texts(tmp_path: Path) -> None:
    with buying(tmp_path) as at:
        at.buy()
        records = at.house.home.journal.load(at.rows()[0].turn_id).records
        told = "".join(record.model_dump_json() for record in records)
        assert len(records) == 2
        assert not any(text in told for text in TEXTS)
        assert len(told) < 3_000


def test_local_vectors_cost_nothing_and_draw_nothing(tmp_path: Path) -> None:
    with buying(tmp_path, agent_day_micro_usd=0, installation_day_micro_usd=0) as at:
        at.vendor.price = FREE
        assert at.buy() is not None
        assert (at.rows()[0].cost, at.turn().blocks, at.drawn()) == (0, (), {0})


def test_what_nobody_counted_costs_its_reservation(tmp_path: Path) -> None:
    with buying(tmp_path) as at:
        at.vendor.counts = False
        assert at.buy() is not None
        reserved = memory_embedding_reservation(at.vendor.info, TEXTS)
        assert (at.rows()[0].cost, at.drawn()) == (reserved, {reserved})


def test_what_a_vendor_counts_beyond_the_reservation_is_taken_all_the_same(tmp_path: Path) -> None:
    with buying(tmp_path, agent_day_micro_usd=100) as at:
        counted = Usage(input_tokens=10_000)
        at.vendor.fails = [unanswered(Fault.BROKEN_OFF, usage=counted)]
        assert at.buy() is None
        assert (at.rows()[0].cost, at.turn().spent, at.drawn()) == (1_300, 1_300, {1_300})


@pytest.mark.parametrize(
    ("fault", "share"), [(Fault.TIMEOUT, 1), (Fault.UNREACHABLE, 0), (Fault.AUTH, 0)]
)
def test_a_failure_costs_what_it_may_have_cost(fault: Fault, share: int, tmp_path: Path) -> None:
    with buying(tmp_path) as at:
        at.vendor.fails = [unanswered(fault)]
        assert at.buy() is None
        cost = share * memory_embedding_reservation(at.vendor.info, TEXTS)
        assert (at.rows()[0].fault, at.rows()[0].cost, at.drawn()) == (fault, cost, {cost})
        assert (at.turn().status, at.turn().spent) == (TurnStatus.FAILED, cost)


@pytest.mark.parametrize("limit", ["agent_day", "installation_day", "turn"])
def test_a_budget_that_is_used_up_buys_nothing(limit: str, tmp_path: Path) -> None:
    with buying(tmp_path, sqlite, **{f"{limit}_micro_usd": 3}) as at:
        assert at.buy() is None
        assert (at.vendor.received, at.rows(), at.drawn()) == (0, (), {0})
        assert at.house.home.journal.list_overdue(at.house.clock.now().replace(year=2030), 10) == ()


def test_an_agents_own_day_counts(tmp_path: Path) -> None:
    with buying(tmp_path) as at:
        at.house.home.agents.save(at.agent.replaced(day_limit_micro_usd=3))
        assert at.buy() is None
        assert (at.vendor.received, at.drawn()) == (0, {0})


def unknown_price(at: Buyer) -> None:
    at.vendor.price = None


def freeze(at: Buyer) -> None:
    at.house.home.switches.set(INSTALLATION, frozen=True)


def freeze_agent(at: Buyer) -> None:
    at.house.home.switches.set("mika", frozen=True)


def retire(at: Buyer) -> None:
    at.house.home.agents.save(at.agent.replaced(status=AgentStatus.RETIRED))


def think_privately(at: Buyer) -> None:
    at.house.home.agents.save(at.agent.replaced(model="local:mika"))


@pytest.mark.parametrize("happens", [unknown_price, freeze, freeze_agent, retire, think_privately])
def test_who_may_not_ask_does_not_ask(happens: Callable[[Buyer], None], tmp_path: Path) -> None:
    with buying(tmp_path) as at:
        happens(at)
        assert at.buy() is None
        assert (at.vendor.received, at.rows(), at.commits()) == (0, (), 0)


def test_a_private_agent_has_its_vectors_from_a_private_model(tmp_path: Path) -> None:
    with buying(tmp_path) as at:
        think_privately(at)
        at.vendor.private = True
        assert at.buy() is not None


def test_after_a_failure_nobody_waits_again_for_a_while(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with buying(tmp_path) as at, caplog.at_level(logging.WARNING):
        at.vendor.fails = [unanswered()]
        assert at.buy() is None
        assert "agent_id=mika, error=no vectors today" in caplog.text
        assert at.buy() is None
        assert at.vendor.received == 1
        at.house.clock.advance(PAUSE_MS / 1_000)
        assert at.buy() is not None


@pytest.mark.parametrize("fault", [Fault.BAD_REQUEST, Fault.TOO_LONG, Fault.BLOCKED])
def test_a_refused_text_is_told_and_silences_nobody(fault: Fault, tmp_path: Path) -> None:
    buyer = Buyer(tmp_path)
    buyer.vendor.fails = [unanswered(fault)]
    refused = buyer.embedder.embed("mika", TEXTS, at_most_seconds=5)
    assert refused is not None
    assert refused.vectors == ()
    found = buyer.embedder.embed("mika", TEXTS[:1], at_most_seconds=5)
    assert found is not None
    assert (found.model, len(found.vectors)) == (refused.model, 1)


def test_a_model_that_refuses_all_texts_is_left_alone_for_a_while(tmp_path: Path) -> None:
    buyer = Buyer(tmp_path)
    buyer.vendor.fails = [unanswered(Fault.BAD_REQUEST) for _ in range(REFUSALS + 1)]
    found = [buyer.embedder.embed("mika", TEXTS, at_most_seconds=5) for _ in range(REFUSALS + 3)]
    assert found[REFUSALS - 1 :] == [None] * 4
    assert None not in found[: REFUSALS - 1]
    assert buyer.vendor.received == REFUSALS
    # A refused question has words alone to answer it.
    buyer.house.clock.advance(PAUSE_MS / 1_000)
    assert buyer.embedder.embed("mika", TEXTS[:1], query=True, at_most_seconds=5) is None


@pytest.mark.parametrize("query", [False, True])
def test_the_model_is_told_whether_a_text_is_searched_with(tmp_path: Path, *, query: bool) -> None:
    with buying(tmp_path) as at:
        assert at.embedder.embed("mika", TEXTS, query=query) is not None
        assert at.vendor.queries == (TEXTS if query else ())


def test_nonsense_is_paid_for_and_not_used(tmp_path: Path) -> None:
    with buying(tmp_path) as at:
        at.vendor.embed = lambda texts, *, timeout_seconds, query=False: type(  # type: ignore[method-assign]
            "Nonsense", (), {"vectors": ((1.0,),), "usage": Usage(input_tokens=10), "model": ""}
        )()
        assert at.buy() is None
        assert (at.rows()[0].fault, at.rows()[0].cost) == (Fault.NONSENSE, 2)


class Refusing:
    """A journal whose day is over when the draw comes."""

    def __init__(self, journal: Any) -> None:
        self._journal = journal

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    def commit(self, change: TurnChange) -> Turn:
        if change.draws:
            raise Exhausted("nothing is left")
        return cast(Turn, self._journal.commit(change))


def test_a_turn_that_cannot_draw_is_ended(tmp_path: Path) -> None:
    with buying(tmp_path) as at:
        refusing = at.made(journal=Refusing(at.house.home.journal))
        assert refusing.embed("mika", TEXTS) is None
        assert at.house.home.journal.list_overdue(at.house.clock.now().replace(year=2030), 10) == ()


def test_the_name_is_that_of_the_model_or_nothing(tmp_path: Path) -> None:
    with buying(tmp_path) as at:
        assert at.embedder.name == "fake:vectors"
        assert at.embedder.embed("mika", ()) is None
