"""A soul: numbers within bounds, quadrants, and the same words for the same soul."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from opencrab.domain.agents.soul import (
    CUSTOM_TRAITS,
    Drives,
    Personality,
    SocialStyle,
    SocialStyleName,
    Soul,
    ThinkingStyle,
    soul_drives,
)
from opencrab.domain.value import Language

both_languages = pytest.mark.parametrize("language", Language)

units = st.floats(0.0, 1.0, allow_nan=False)
signed = st.floats(-1.0, 1.0, allow_nan=False)
words = st.text("あ美海abcé ", min_size=1, max_size=12).filter(lambda text: bool(text.strip()))
souls = st.builds(
    Soul,
    persona_name=words,
    social_style=st.builds(SocialStyle, assertiveness=signed, responsiveness=signed),
    personality=st.builds(Personality, openness=units, neuroticism=units),
    thinking_style=st.builds(ThinkingStyle, primary=words, description=words),
    drives=st.none() | st.builds(Drives, risk_tolerance=units),
    custom_traits=st.dictionaries(words, words, max_size=4),
)


@pytest.mark.parametrize(
    ("assertiveness", "responsiveness", "name"),
    [
        (0.5, 0.5, SocialStyleName.EXPRESSIVE),
        (0.5, -0.5, SocialStyleName.DRIVING),
        (-0.5, 0.5, SocialStyleName.AMIABLE),
        (-0.5, -0.5, SocialStyleName.ANALYTICAL),
        (0.0, 0.0, SocialStyleName.EXPRESSIVE),
        (0.0, -0.1, SocialStyleName.DRIVING),
        (-0.1, 0.0, SocialStyleName.AMIABLE),
    ],
)
def test_a_social_style_is_the_quadrant_of_its_two_axes(
    assertiveness: float, responsiveness: float, name: SocialStyleName
) -> None:
    style = SocialStyle(assertiveness=assertiveness, responsiveness=responsiveness)
    assert style.style is name


def test_a_style_name_set_by_hand_wins_over_the_quadrant() -> None:
    style = SocialStyle(assertiveness=1, responsiveness=1, style_name=SocialStyleName.ANALYTICAL)
    assert style.style is SocialStyleName.ANALYTICAL


@pytest.mark.parametrize("name", SocialStyleName)
def test_a_style_name_set_by_hand_is_described_without_numbers(name: SocialStyleName) -> None:
    soul = Soul(persona_name="蟹", social_style=SocialStyle(style_name=name))
    assert f"Social style: {name}" in soul.describe(Language.EN).splitlines()


def test_a_soul_describes_itself_in_japanese() -> None:
    soul = Soul(
        persona_name="美香",
        social_style=SocialStyle(assertiveness=0.2),
        personality=Personality(extraversion=0.9),
        thinking_style=ThinkingStyle(primary="実践的", secondary="分析的", description="海を想う"),
        custom_traits={"好物": "蟹"},
    )
    assert soul.describe(Language.JA).splitlines() == [
        "ペルソナ: 美香",
        "ソーシャルスタイル: Expressive (主張性 0.2)",
        "性格特性(0〜1): 外向性 0.9",
        "思考スタイル: 実践的 (副: 分析的)",
        "海を想う",
        "行動の原動力(0〜1): 協働志向 0.7, 速さ(0=品質) 0.7",
        "その他の特徴: 好物: 蟹",
    ]


def test_a_soul_describes_itself_in_english() -> None:
    soul = Soul(persona_name="Ken", drives=Drives(risk_tolerance=1))
    assert soul.describe(Language.EN).splitlines() == [
        "Persona: Ken",
        "Drives (0 to 1): risk tolerance 1.0",
    ]


@both_languages
@pytest.mark.parametrize("nearly", [0.5, 0.53])
def test_what_reads_as_neutral_is_not_described(language: Language, nearly: float) -> None:
    soul = Soul(persona_name="蟹", personality=Personality(openness=nearly))
    rows = soul.describe(language).splitlines()
    assert [row.partition(":")[0] for row in rows] in (
        ["ペルソナ"],
        ["Persona"],
    )


@both_languages
@given(soul=souls)
def test_equal_souls_describe_themselves_equally(language: Language, soul: Soul) -> None:
    reordered = dict(reversed(soul.custom_traits.items()))
    stored = Soul.model_validate_json(soul.replaced(custom_traits=reordered).model_dump_json())
    assert stored == soul
    assert stored.describe(language) == soul.describe(language)


@both_languages
def test_minus_zero_reads_as_zero(language: Language) -> None:
    positive = Soul(persona_name="蟹", social_style=SocialStyle(assertiveness=0.0))
    negative = Soul(persona_name="蟹", social_style=SocialStyle(assertiveness=-0.0))
    assert positive == negative
    assert positive.describe(language) == negative.describe(language)


@pytest.mark.parametrize("number", [-0.01, 1.01, float("nan"), float("inf"), "much"])
def test_a_trait_outside_zero_to_one_is_no_trait(number: object) -> None:
    with pytest.raises(ValidationError):
        Personality.model_validate({"openness": number})
    with pytest.raises(ValidationError):
        Drives.model_validate({"risk_tolerance": number})


@pytest.mark.parametrize("number", [-1.01, 1.01, float("nan")])
def test_a_social_axis_ends_at_minus_one_and_one(number: float) -> None:
    with pytest.raises(ValidationError):
        SocialStyle(assertiveness=number)


def test_no_custom_traits_may_be_written_as_null() -> None:
    soul = Soul.model_validate_json(json.dumps({"persona_name": "蟹", "custom_traits": None}))
    assert soul.custom_traits == {}


def test_there_is_a_most_of_custom_traits() -> None:
    traits = {f"特徴{n}": "x" for n in range(CUSTOM_TRAITS)}
    assert len(Soul(persona_name="蟹", custom_traits=traits).custom_traits) == CUSTOM_TRAITS
    with pytest.raises(ValidationError, match="custom_traits"):
        Soul(persona_name="蟹", custom_traits=traits | {"one more": "x"})


def test_an_unknown_trait_is_refused() -> None:
    with pytest.raises(ValidationError, match="charisma"):
        Personality.model_validate({"charisma": 0.5})


def test_without_drives_of_its_own_a_soul_has_those_of_its_personality() -> None:
    traits = Personality(openness=1, conscientiousness=0.8, extraversion=0, neuroticism=0)
    soul = Soul(persona_name="蟹", personality=traits)
    assert soul.drives is None
    assert soul.weights.model_dump() == pytest.approx(
        {
            "risk_tolerance": 1.0,
            "collaboration": 0.25,
            "depth_vs_breadth": 0.6,
            "quality_vs_speed": 0.1,
        }
    )
    assert "risk tolerance 1.0, collaboration 0.2" in soul.describe(Language.EN)
    assert soul.replaced(drives=Drives()).weights == Drives()


@given(personality=st.builds(Personality, **dict.fromkeys(Personality.model_fields, units)))
def test_derived_drives_are_within_zero_and_one(personality: Personality) -> None:
    Drives.model_validate(soul_drives(personality).model_dump())
    assert soul_drives(Personality()) == Drives()


def test_the_quadrant_of_those_who_drive_has_its_other_name_too() -> None:
    assert SocialStyle.model_validate({"style_name": "Driver"}).style is SocialStyleName.DRIVING
    with pytest.raises(ValidationError):
        SocialStyle.model_validate({"style_name": "Drivers"})
