"""A model call: what it hears that was said meanwhile, and the last money that it may cost."""

import logging
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from opencrab.domain.conversation.message import LineKind
from opencrab.domain.models.fault import Fault
from opencrab.domain.money.budget import INSTALLATION
from opencrab.domain.turn.record import ModelIntent, ModelResult
from opencrab.domain.turn.turn import Stop, Turn, TurnStatus
from opencrab.domain.value import Language
from opencrab.ports.turn.journal import Journal, StepState
from tests.contract.homes import sqlite
from tests.crash.outside import Reply
from tests.e2e.house import House
from tests.e2e.thinking import DAY
from tests.unit.engine.test_calls import DONE, call

BLOCK = 50_000


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(sqlite, tmp_path)
    with closing(house):
        yield house


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("limit", ["agent_day_micro_usd", "installation_day_micro_usd"])
def test_the_last_money_of_a_day_is_spent_where_it_covers_a_call_but_no_block(
    house: House, limit: str, language: Language
) -> None:
    house.session(house.agent("crab", (Reply("はい, yes"),), language))
    house.home.budgets.change_limits({limit: BLOCK - 1})
    (turn,) = house.say("こんにちは")
    house.work()
    ended = house.turn(turn.id)
    assert ended.status is TurnStatus.COMPLETED
    assert 0 < ended.spent == house.home.budgets.drawn_micro_usd(INSTALLATION, DAY) < BLOCK


class StopsAfterTheLook:
    """A journal in which somebody stops the turn just after a step has looked for that."""

    def __init__(self, journal: Journal, at: datetime) -> None:
        self._journal, self._at = journal, at

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    def read_step_state(self, turn: Turn) -> StepState:
        """Return what was so until now."""
        found = self._journal.read_step_state(turn)
        self._journal.stop(turn.id, Stop(by="owner", at=self._at))
        return found


@pytest.mark.parametrize("text", ["まとめて", "sum it up"])
def test_a_stop_after_the_look_asks_no_model_and_draws_no_money(house: House, text: str) -> None:
    house.session(house.agent("crab", (Reply(text),)))
    journal: Any = StopsAfterTheLook(house.home.journal, house.clock.now())
    house.runtime = replace(house.runtime, home=replace(house.runtime.home, journal=journal))
    (turn,) = house.say(text)
    house.work()
    stored = house.home.journal.load(turn.id)
    assert stored.turn.status is TurnStatus.STOPPED
    assert not any(isinstance(record, ModelIntent) for record in stored.records)
    assert house.provider.bill.received == 0
    assert house.home.budgets.drawn_micro_usd(INSTALLATION, DAY) == 0


@pytest.mark.parametrize("text", ["短く話して", "Be brief"])
def test_an_instruction_is_heard_by_the_next_call_and_stays_where_it_was_heard(
    house: House, text: str
) -> None:
    script = (call("ws_list"), call("ws_list"), DONE)
    house.session(house.agent("crab", script))
    instructions = [text]

    def instructs() -> None:
        if instructions:
            house.mentor(instructions.pop())

    house.interrupt(instructs)
    (turn,) = house.say("go")
    house.work()
    records = house.home.journal.load(turn.id).records
    heard = [each.heard for each in records if isinstance(each, ModelIntent)]
    assert heard == [(), ("i1",), ()]


@pytest.mark.parametrize("text", ["秘密です", "a secret"])
def test_each_failed_call_is_one_line_of_the_log_without_what_was_said(
    house: House, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    house.session(house.agent("crab", (Reply(text, fails=(Fault.OVERLOADED, Fault.AUTH)),)))
    with caplog.at_level(logging.WARNING):
        (turn,) = house.say(text)
        house.work()
        house.later(60)
    assert house.turn(turn.id).status is TurnStatus.FAILED
    lines = [each for each in caplog.messages if each.startswith("model call failed")]
    told = "model call failed: model=fake:crab, fault={}, latency_ms=0, turn={}"
    assert lines == [told.format(fault, turn.id) for fault in ("overloaded", "auth")]
    assert text not in caplog.text


_LOST = (Fault.SERVER_ERROR, Fault.TIMEOUT, Fault.BROKEN_OFF)
_TRIES = 4
_BOUND_SECONDS = 2 + 4 + 8
"""The longest sum of the three waits, when the provider asks for none."""


def _fail_and_wait(house: House, *faults: Fault) -> Turn:
    """A turn whose model fails so; each second its queue is looked at, as long as it may take."""
    house.session(house.agent("crab", (Reply("はい, yes", fails=faults),)))
    (turn,) = house.say("hello")
    house.work()
    for _ in range(_BOUND_SECONDS):
        house.clock.advance(1)
        house.work()
    return house.turn(turn.id)


@pytest.mark.parametrize("fault", [*_LOST, Fault.OVERLOADED, Fault.UNREACHABLE, Fault.RATE_LIMITED])
@pytest.mark.parametrize("failures", [1, 2, 3])
def test_a_message_is_answered_after_up_to_three_failures_of_the_only_model(
    house: House, fault: Fault, failures: int
) -> None:
    ended = _fail_and_wait(house, *(fault,) * failures)
    assert ended.status is TurnStatus.COMPLETED
    assert [line.text for line in house.lines(LineKind.SPEECH)] == ["はい, yes"]
    records = house.home.journal.load(ended.id).records
    intents = {each.n: each for each in records if isinstance(each, ModelIntent)}
    results = [each for each in records if isinstance(each, ModelResult)]
    assert len(intents) == len(results) == failures + 1
    # To the micro-dollar: a failed call costs its own reservation if the vendor may have worked.
    for result in results[:-1]:
        assert result.cost == (intents[result.n].reserved if fault.may_be_billed else 0)
    assert ended.spent == sum(result.cost for result in results)
    assert ended.spent >= house.provider.bill.total
    assert ended.spent == house.home.budgets.drawn_micro_usd(INSTALLATION, DAY)


@pytest.mark.parametrize("fault", _LOST)
def test_a_failure_for_good_ends_with_its_reason_after_four_calls(
    house: House, fault: Fault
) -> None:
    ended = _fail_and_wait(house, *(fault,) * 50)
    assert ended.status is TurnStatus.FAILED
    assert "the model fails on purpose" in ended.note
    (told,) = house.lines(LineKind.SYSTEM)
    assert "the model fails on purpose" in told.text
    assert house.provider.bill.received == _TRIES
    assert ended.spent == house.home.budgets.drawn_micro_usd(INSTALLATION, DAY)


def test_retries_that_the_budget_cannot_pay_end_with_the_models_error_too(house: House) -> None:
    house.home.budgets.change_limits({"turn_micro_usd": 10_000})
    ended = _fail_and_wait(house, *(Fault.TIMEOUT,) * 50)
    assert ended.status is TurnStatus.EXHAUSTED
    assert ended.spent <= 10_000
    assert "fake:crab: the model fails on purpose" in ended.note
    assert ended.spent == house.home.budgets.drawn_micro_usd(INSTALLATION, DAY)
