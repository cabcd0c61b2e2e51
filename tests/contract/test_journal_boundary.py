"""Journal: what a turn must know before its next model call, all of it as it is now."""

import pytest

from opencrab.domain.conversation.message import Instruction
from opencrab.domain.models.health import BreakerState
from opencrab.domain.models.preferences import Preferences
from opencrab.ports.home import Home
from opencrab.ports.turn.journal import StepState
from tests.contract.example import JAPANESE, NOW, admitted, later, line, turn

LIMITS = {"turn_micro_usd": 7, "session_micro_usd": 70, "heartbeat_percent": 0}
ILL = BreakerState(failures=2, failed_at=NOW, paused_until=later(30))


def test_by_itself_nothing_is_to_be_known(home: Home) -> None:
    assert home.journal.read_step_state(turn()) == StepState(None, ())


def test_a_turn_sees_everything_that_changed(home: Home) -> None:
    current = admitted(home)
    told = Instruction(id="i1", session_id="s1", text=JAPANESE, by="owner", at=NOW)
    placed = home.journal.instruct(told, line(group="i1", message_id="i1"))
    home.switches.set("hana", frozen=True)
    home.budgets.change_limits(LIMITS)
    home.health.put("openai", ILL, None)
    home.preferences.save(Preferences(fallback=("local",)), 0)
    assert home.journal.read_step_state(current) == StepState(
        frozen="hana",
        instructions=(placed,),
        limits=LIMITS,
        health={"openai": ILL},
        settings_version=1,
    )


def test_a_turn_sees_what_was_taken_back(home: Home) -> None:
    current = admitted(home)
    home.switches.set("installation", frozen=True)
    home.budgets.change_limits(LIMITS)
    home.health.put("openai", ILL, None)
    assert home.journal.read_step_state(current).frozen == "installation"
    home.switches.set("installation", frozen=False)
    home.budgets.change_limits(dict.fromkeys(LIMITS))
    home.health.forget("openai")
    assert home.journal.read_step_state(current) == StepState(None, ())


@pytest.mark.parametrize("limits", [{}, LIMITS, {"session_micro_usd": 0}])
def test_limits_are_kept_as_they_were_set(home: Home, limits: dict[str, int]) -> None:
    home.budgets.change_limits(limits)
    assert home.budgets.limits() == limits
    assert home.journal.read_step_state(turn()).limits == limits
