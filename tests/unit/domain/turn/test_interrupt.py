"""Interrupt: its names are stored, and an older version that reads a takeover sees a stop."""

from datetime import UTC, datetime

import pytest

from opencrab.domain.agents.agent import Agent
from opencrab.domain.turn.interrupt import Interrupt
from opencrab.domain.turn.turn import Stop

NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)


@pytest.mark.parametrize("interrupt", [Interrupt.AT_ONCE, Interrupt.AFTER_STEP])
def test_a_takeover_is_stored_in_the_fields_of_any_stop(interrupt: Interrupt) -> None:
    stop = Stop.for_next_message(interrupt, NOW)
    assert set(stop.model_dump()) == {"by", "reason", "at", "pause"}
    read = Stop.model_validate_json(stop.model_dump_json())
    assert (read.is_takeover, read.after_step) == (True, interrupt is Interrupt.AFTER_STEP)


def test_a_person_cannot_ask_for_one() -> None:
    assert not Stop(by="next_message", reason="after_step", at=NOW).is_takeover


def test_an_agent_with_the_default_is_stored_as_before() -> None:
    agent = Agent(id="a", name="花", created_at=NOW, updated_at=NOW)
    assert "interrupt" not in agent.model_dump()
    chosen = agent.replaced(interrupt=Interrupt.QUEUE)
    assert Agent.model_validate_json(chosen.model_dump_json()) == chosen
