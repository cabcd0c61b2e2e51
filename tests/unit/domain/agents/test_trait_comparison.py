"""Two versions of a soul, and what verdicts on their answers show."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.agents.soul import Drives, Personality, SocialStyle, Soul
from opencrab.domain.agents.trait_comparison import (
    TraitFinding,
    TraitName,
    soul_trait_share,
    soul_trait_share_of_pair,
    souls_of_trait_comparison,
    told_traits,
)
from opencrab.domain.errors import Invalid
from opencrab.domain.statistics.confidence import wilson_confidence_interval
from opencrab.domain.value import Language

FULL = Soul(
    persona_name="蟹",
    personality=Personality(
        openness=0.9,
        conscientiousness=0.2,
        extraversion=0.7,
        agreeableness=0.3,
        neuroticism=0.0,
    ),
    social_style=SocialStyle(assertiveness=-0.5, responsiveness=0.4),
    drives=Drives(
        risk_tolerance=0.1, collaboration=1.0, depth_vs_breadth=0.6, quality_vs_speed=0.4
    ),
)


@pytest.mark.parametrize("name", TraitName)
@pytest.mark.parametrize("language", Language)
def test_the_two_versions_differ_in_one_number_alone(name: TraitName, language: Language) -> None:
    high, low = souls_of_trait_comparison(FULL, name)
    flat = [{**soul.model_dump(), "name": None} for soul in (high, low)]
    parts = ("personality", "social_style", "drives")
    one, other = ({f"{k}.{n}": v for k in parts for n, v in each[k].items()} for each in flat)
    (changed,) = {key for key, value in one.items() if value != other[key]}
    assert changed.endswith(f".{name.value}")
    assert one[changed] > other[changed]
    assert FULL in (high, low) or one[changed] == pytest.approx(1 - other[changed])
    assert high.describe(language) != low.describe(language)


def test_derived_drives_stay_what_they_are_when_a_trait_is_flipped() -> None:
    soul = Soul(persona_name="蟹", personality=Personality(openness=0.9))
    high, low = souls_of_trait_comparison(soul, TraitName.OPENNESS)
    assert high.weights == low.weights == soul.weights


def test_a_number_that_the_prompt_leaves_out_cannot_be_compared() -> None:
    soul = Soul(persona_name="蟹", personality=Personality(openness=0.53, neuroticism=0.6))
    assert told_traits(soul) == (TraitName.NEUROTICISM,)
    with pytest.raises(Invalid, match="openness is neutral"):
        souls_of_trait_comparison(soul, TraitName.OPENNESS)
    assert told_traits(FULL) == tuple(TraitName)


def test_every_number_of_a_soul_can_be_compared() -> None:
    parts = (Personality, SocialStyle, Drives)
    numbers = [name for part in parts for name in part.model_fields if name != "style_name"]
    assert [name.value for name in TraitName] == numbers


@pytest.mark.parametrize(
    ("verdicts", "share"),
    [
        ((True, True), 1.0),
        ((False, False), 0.0),
        ((True, False), 0.5),
        ((False, True), 0.5),
        ((None, True), 0.5),
        ((True, None), 0.5),
        ((None, None), 0.5),
    ],
)
def test_only_verdicts_that_agree_count(
    verdicts: tuple[bool | None, bool | None], share: float
) -> None:
    assert soul_trait_share_of_pair(verdicts) == share


@pytest.mark.parametrize(
    ("shares", "finding"),
    [
        ([1.0] * 4, TraitFinding.DIFFERS),
        ([1.0] * 3, TraitFinding.NOT_SHOWN),
        ([1.0] * 4 + [0.5], TraitFinding.NOT_SHOWN),
        ([1.0] * 5, TraitFinding.DIFFERS),
        ([1.0] * 7 + [0.0], TraitFinding.DIFFERS),
        ([1.0] * 6 + [0.5, 0.0], TraitFinding.NOT_SHOWN),
        ([0.0] * 5, TraitFinding.OPPOSITE),
        ([0.5] * 8, TraitFinding.NOT_SHOWN),
    ],
)
def test_a_finding_needs_an_interval_beside_one_half(
    shares: list[float], finding: TraitFinding
) -> None:
    assert soul_trait_share(shares).finding is finding


@given(share=st.floats(0, 1), n=st.integers(1, 1_000))
def test_the_interval_of_wilson_solves_its_equation(share: float, n: int) -> None:
    low, high = wilson_confidence_interval(share, n)
    assert 0 <= low <= share + 1e-12
    assert share - 1e-12 <= high <= 1
    for limit in (low, high):
        if 0 < limit < 1:
            assert (share - limit) ** 2 == pytest.approx(
                1.959964**2 * limit * (1 - limit) / n, abs=1e-9
            )
