"""Rules: the settings' dollars and steps as the engine counts them."""

import pytest

from opencrab.bootstrap.rules import rules_of
from opencrab.domain.errors import Invalid
from opencrab.domain.money import Limits
from opencrab.engine.runtime import Rules
from opencrab.settings import load


def test_the_defaults_are_the_engines_own() -> None:
    assert rules_of(load({}, {})) == Rules()


def test_dollars_become_whole_millionths() -> None:
    given = {
        "OPENCRAB_BUDGET__TURN_USD": "0.29",
        "OPENCRAB_BUDGET__AGENT_DAY_USD": "0",
        "OPENCRAB_BUDGET__INSTALLATION_DAY_USD": "1234.5678901",
        "OPENCRAB_BUDGET__SESSION_USD": "2",
        "OPENCRAB_BUDGET__HEARTBEAT_PERCENT": "0",
        "OPENCRAB_BUDGET__PUBLIC_USER_DAY_USD": "0.01",
    }
    limits = rules_of(load({}, given)).limits
    assert limits.turn_micro_usd == 290_000
    assert limits.agent_day_micro_usd == 0
    assert limits.installation_day_micro_usd == 1_234_567_890
    assert limits.session_micro_usd == 2_000_000
    assert limits.heartbeat_percent == 0
    assert limits.public_user_day_micro_usd == 10_000
    assert limits.block_micro_usd == Limits().block_micro_usd


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("TURN_USD", "-0.01"), ("AGENT_DAY_USD", "1e300"), ("SESSION_USD", "1000001"),
        ("HEARTBEAT_PERCENT", "101"), ("HEARTBEAT_PERCENT", "-1"),
    ],
)  # fmt: skip
def test_a_budget_that_cannot_be_meant_is_named(name: str, text: str) -> None:
    with pytest.raises(Invalid) as caught:
        rules_of(load({}, {f"OPENCRAB_BUDGET__{name}": text}))
    assert caught.value.field == f"budget.{name.lower()}"
    assert caught.value.cure


@pytest.mark.parametrize("steps", [1, 25])
def test_the_most_steps_are_a_setting(steps: int) -> None:
    assert rules_of(load({}, {"OPENCRAB_AGENT__MAX_STEPS": str(steps)})).max_steps == steps


def test_everything_else_is_as_the_engine_has_it() -> None:
    rules = rules_of(load({}, {"OPENCRAB_AGENT__MAX_STEPS": "3"}))
    assert (rules.lease_seconds, rules.visibility_seconds) == (300, 1_800)
