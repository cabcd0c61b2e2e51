"""A personality as somebody types it, and how what is wrong in it is named."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.agents.soul import Drives, Personality, SocialStyle, Soul
from opencrab.domain.errors import Invalid
from opencrab.domain.value import Value
from opencrab.gateways.cli.agents.soul_option import (
    PERSONA_NAME,
    soul_with_persona,
    soul_with_traits,
)

PARTS: tuple[type[Value], ...] = (Personality, SocialStyle, Drives)
NUMBERS = sorted(name for part in PARTS for name in part.model_fields if name != "style_name")


def test_numbers_and_words_find_their_places() -> None:
    soul = soul_with_traits(
        {"persona_name": "Ada"}, " openness=0.8, risk_tolerance = .2 ,趣味=将棋,"
    )
    assert soul == {
        "persona_name": "Ada",
        "personality": {"openness": 0.8},
        "drives": {"risk_tolerance": 0.2},
        "custom_traits": {"趣味": "将棋"},
    }


def test_the_soul_that_was_given_stays_as_it_is() -> None:
    soul: dict[str, Any] = {"personality": {"openness": 0.5}, "custom_traits": {"hobby": "go"}}
    changed = soul_with_traits(soul, "openness=1,hobby=chess")
    assert soul == {"personality": {"openness": 0.5}, "custom_traits": {"hobby": "go"}}
    assert changed == {"personality": {"openness": 1.0}, "custom_traits": {"hobby": "chess"}}


def test_a_drive_can_be_set_where_none_was() -> None:
    soul = Soul(persona_name="Ada").model_dump()
    assert soul_with_traits(soul, "collaboration=1")["drives"] == {"collaboration": 1.0}


@given(values=st.dictionaries(st.sampled_from(NUMBERS), st.floats(0, 1)))
def test_every_number_of_a_soul_can_be_set(values: dict[str, float]) -> None:
    text = ",".join(f"{name}={value!r}" for name, value in values.items())
    soul = Soul(**soul_with_traits({"persona_name": "Ada"}, text)).model_dump()
    found = {**soul["personality"], **soul["social_style"], **(soul["drives"] or {})}
    assert {name: found[name] for name in values} == values


@pytest.mark.parametrize(
    ("text", "message", "cure"),
    [
        ("openness", "'openness' is not of the form name=value", "openness"),
        ("=1", "'=1' is not of the form", "openness"),
        ("openness=", "is not of the form", "openness"),
        ("openness=very", "openness must be a number, not 'very'", "openness"),
        ("opennes=0.5", "there is no numeric trait 'opennes'", "did you mean openness?"),
        ("開放性=0.5", "there is no numeric trait '開放性'", "openness, conscientiousness"),
    ],
)
def test_what_is_no_trait_is_named_with_a_cure(text: str, message: str, cure: str) -> None:
    with pytest.raises(Invalid) as raised:
        soul_with_traits({}, text)
    assert message in raised.value.message
    assert cure in str(raised.value.cure)
    assert raised.value.field == "traits"


@pytest.mark.parametrize("persona", ["a curious researcher", "好奇心旺盛な研究者"])
def test_a_short_persona_is_a_name(persona: str) -> None:
    assert soul_with_persona({}, f" {persona} ") == {"persona_name": persona}


@pytest.mark.parametrize("persona", ["長" * (PERSONA_NAME + 1), "first line\nsecond line"])
def test_a_long_persona_is_a_trait_beside_the_others(persona: str) -> None:
    soul = soul_with_persona({"custom_traits": {"hobby": "chess"}}, persona)
    assert soul == {"custom_traits": {"hobby": "chess", "persona": persona}}
