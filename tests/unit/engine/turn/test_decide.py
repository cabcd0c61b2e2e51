"""A model call: what it hears that was said meanwhile, and the last money that it may cost."""

import logging
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from opencrab.domain.models.fault import Fault
from opencrab.domain.money.budget import INSTALLATION
from opencrab.domain.turn.record import ModelIntent
from opencrab.domain.turn.turn import TurnStatus
from opencrab.domain.value import Language
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
    assert 0 < ended.spent == house.home.budgets.drawn(INSTALLATION, DAY) < BLOCK


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
