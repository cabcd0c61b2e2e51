"""Rules: the settings' dollars and steps as the engine counts them."""

import pytest

from opencrab.bootstrap.rules import rules_of
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
    }
    limits = rules_of(load({}, given)).limits
    assert limits.turn_micro_usd == 290_000
    assert limits.agent_day_micro_usd == 0
    assert limits.installation_day_micro_usd == 1_234_567_890
    assert limits.block_micro_usd == Limits().block_micro_usd


@pytest.mark.parametrize("steps", [1, 25])
def test_the_most_steps_are_a_setting(steps: int) -> None:
    assert rules_of(load({}, {"OPENCRAB_AGENT__MAX_STEPS": str(steps)})).max_steps == steps


def test_everything_else_is_as_the_engine_has_it() -> None:
    rules = rules_of(load({}, {"OPENCRAB_AGENT__MAX_STEPS": "3"}))
    assert (rules.lease_seconds, rules.visibility_seconds) == (300, 1_800)
