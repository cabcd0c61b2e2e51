"""Each setting has a rule, each rule a setting, and the defaults follow them."""

from typing import Any

import pytest
from pydantic import ValidationError

from opencrab.domain.autonomy.settings import Autonomy
from opencrab.domain.configuration.rule import find_setting_problem
from opencrab.domain.configuration.rules import RULES, is_secret_setting, setting_rule
from opencrab.domain.learning.settings import TrialSettings
from opencrab.domain.models.routing import Sampling, Use
from opencrab.domain.value import Value
from opencrab.settings import load_settings
from tests.cases import for_each
from tests.docs.reference.configuration import settings

DEFAULTS = settings()


@for_each("name", sorted(DEFAULTS))
def test_a_default_follows_its_rule(name: str) -> None:
    if name == "llm.providers.scripted":
        return
    rule = setting_rule(name)
    assert rule is not None
    assert find_setting_problem(rule, DEFAULTS[name]) is None


def test_a_rule_is_for_a_setting_that_exists() -> None:
    own = {name for name in RULES if "*" not in name}
    unset = {f"llm.uses.{use}.{name}" for use in Use for name in Sampling.model_fields}
    assert own <= set(load_settings({}, {}).values) | set(DEFAULTS) | unset


@for_each(
    "section",
    [("autonomy", Autonomy()), ("trials", TrialSettings()), ("autonomy.shares", Autonomy().shares)],
)
def test_limits_are_those_of_the_values_that_the_engine_takes(section: tuple[str, Value]) -> None:
    prefix, defaults = section
    for name, default in defaults:
        rule = RULES.get(f"{prefix}.{name}")
        if rule is None:
            continue
        for limit, outside in ((rule.least, -1), (rule.most, 1)):
            if limit is None:
                continue
            number = type(default)(limit)
            _made(defaults, name, number)
            if prefix != "autonomy.shares":
                with pytest.raises(ValidationError):
                    _made(defaults, name, number + outside)


def _made(defaults: Value, name: str, number: Any) -> Value:
    return type(defaults).model_validate({**defaults.model_dump(), name: number})


@pytest.mark.parametrize(
    ("name", "is_secret"),
    [
        ("llm.providers.openai.api_key", True),
        ("llm.providers.own.password", True),
        ("gateway.discord.token", True),
        ("llm.providers.openai.key_name", False),
        ("context.high_water_tokens", False),
        ("gateway.discord.public_key", False),
    ],
)
def test_secrets_are_known_by_their_names(name: str, *, is_secret: bool) -> None:
    assert is_secret_setting(name) is is_secret
