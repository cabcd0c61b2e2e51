"""Soul: the personality of an agent, as numbers that act and as text for its prompt."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from pydantic import Field, field_validator

from opencrab.domain.value import Language, Name, ShortText, Signed, Unit, Value

CUSTOM_TRAITS = 32


class Personality(Value):
    """The Big Five, each 0..1 (a source with -1..1 maps by (x+1)/2)."""

    openness: Unit = 0.5
    conscientiousness: Unit = 0.5
    extraversion: Unit = 0.5
    agreeableness: Unit = 0.5
    neuroticism: Unit = 0.5


class SocialStyleName(StrEnum):
    """The four quadrants of assertiveness and responsiveness."""

    DRIVING = "Driving"
    EXPRESSIVE = "Expressive"
    AMIABLE = "Amiable"
    ANALYTICAL = "Analytical"


class SocialStyle(Value):
    """Social style: asking (-1) to assertive (1), reserved (-1) to emotional (1)."""

    assertiveness: Signed = 0.0
    responsiveness: Signed = 0.0
    style_name: SocialStyleName | None = None

    @field_validator("style_name", mode="before")
    @classmethod
    def _driver_is_driving(cls, given: object) -> object:
        """Accept Merrill and Reid's own name of the quadrant, which the designs use too."""
        return SocialStyleName.DRIVING if given == "Driver" else given

    @property
    def style(self) -> SocialStyleName:
        """The style set by hand, else the quadrant (zero counts as positive)."""
        if self.style_name is not None:
            return self.style_name
        if self.assertiveness >= 0:
            emotional = self.responsiveness >= 0
            return SocialStyleName.EXPRESSIVE if emotional else SocialStyleName.DRIVING
        if self.responsiveness >= 0:
            return SocialStyleName.AMIABLE
        return SocialStyleName.ANALYTICAL


class ThinkingStyle(Value):
    """Thinking style: a primary and a secondary mode, and free text."""

    primary: Name = "practical"
    secondary: Name = "analytical"
    description: ShortText = ""


class Drives(Value):
    """Weights of goals and initiative, each 0..1."""

    risk_tolerance: Unit = 0.5
    collaboration: Unit = 0.5
    depth_vs_breadth: Unit = 0.5
    quality_vs_speed: Unit = 0.5


def soul_drives(traits: Personality) -> Drives:
    """Compute drives from the Big Five, for a soul that does not set them.

    Each is the mean of two traits, so that all are within 0..1, and 0.5 where the traits are:

    - risk tolerance: openness, and 1 - neuroticism
    - collaboration: agreeableness, and extraversion
    - breadth over depth: openness, and 1 - conscientiousness
    - speed over quality: extraversion, and 1 - conscientiousness
    """
    calm, loose = 1.0 - traits.neuroticism, 1.0 - traits.conscientiousness
    return Drives(
        risk_tolerance=(traits.openness + calm) / 2,
        collaboration=(traits.agreeableness + traits.extraversion) / 2,
        depth_vs_breadth=(traits.openness + loose) / 2,
        quality_vs_speed=(traits.extraversion + loose) / 2,
    )


_LABELS = {
    Language.JA: {
        "persona": "ペルソナ",
        "style": "ソーシャルスタイル",
        "assertiveness": "主張性",
        "responsiveness": "感情性",
        "personality": "性格特性(0〜1)",
        "openness": "開放性",
        "conscientiousness": "誠実性",
        "extraversion": "外向性",
        "agreeableness": "協調性",
        "neuroticism": "神経症傾向",
        "thinking": "思考スタイル",
        "secondary": "副",
        "drives": "行動の原動力(0〜1)",
        "risk_tolerance": "リスク許容度",
        "collaboration": "協働志向",
        "depth_vs_breadth": "広さ(0=深さ)",
        "quality_vs_speed": "速さ(0=品質)",
        "traits": "その他の特徴",
    },
    Language.EN: {
        "persona": "Persona",
        "style": "Social style",
        "assertiveness": "assertiveness",
        "responsiveness": "responsiveness",
        "personality": "Personality (0 to 1)",
        "openness": "openness",
        "conscientiousness": "conscientiousness",
        "extraversion": "extraversion",
        "agreeableness": "agreeableness",
        "neuroticism": "neuroticism",
        "thinking": "Thinking style",
        "secondary": "secondary",
        "drives": "Drives (0 to 1)",
        "risk_tolerance": "risk tolerance",
        "collaboration": "collaboration",
        "depth_vs_breadth": "breadth (0 = depth)",
        "quality_vs_speed": "speed (0 = quality)",
        "traits": "Other traits",
    },
}


class Soul(Value, defer_build=False):
    """The core of a persona: who the agent is, whatever it is asked.

    Without `drives` they are derived from the personality; `weights` are the effective ones.
    """

    persona_name: Name
    social_style: SocialStyle = SocialStyle()
    personality: Personality = Personality()
    thinking_style: ThinkingStyle = ThinkingStyle()
    drives: Drives | None = None
    custom_traits: dict[Name, ShortText] = Field(default_factory=dict, max_length=CUSTOM_TRAITS)

    @field_validator("custom_traits", mode="before")
    @classmethod
    def _none_is_empty(cls, traits: Any) -> Any:
        return {} if traits is None else traits

    @property
    def weights(self) -> Drives:
        """The drives in effect: those that were set, else those computed from the Big Five."""
        return self.drives or soul_drives(self.personality)

    def describe(self, language: Language) -> str:
        """Format the soul as text for a system prompt, the same text for equal souls.

        What is neutral or usual is left out: it tells a model nothing.
        """
        label = _LABELS[language]
        social, thinking = self.social_style, self.thinking_style
        axes = _told_numbers(social, ("assertiveness", "responsiveness"), label)
        style = f"{label['style']}: {social.style}" + (f" ({axes})" if axes else "")
        modes = f"{thinking.primary} ({label['secondary']}: {thinking.secondary})"
        traits = _told_numbers(self.personality, Personality.model_fields, label)
        drives = _told_numbers(self.weights, Drives.model_fields, label)
        rows = [
            f"{label['persona']}: {self.persona_name}",
            style if axes or social.style_name else "",
            f"{label['personality']}: {traits}" if traits else "",
            f"{label['thinking']}: {modes}" if thinking != ThinkingStyle() else "",
            thinking.description,
            f"{label['drives']}: {drives}" if drives else "",
        ]
        if self.custom_traits:
            others = "; ".join(
                f"{name}: {text}" for name, text in sorted(self.custom_traits.items())
            )
            rows.append(f"{label['traits']}: {others}")
        return "\n".join(row for row in rows if row)


def is_soul_number_described(values: Value, name: str) -> bool:
    """Check whether a number of a part of a soul is in its prompt: if it does not read as neutral.

    `values` is the part: the personality, the social style or the drives.
    """
    return bool(_told_numbers(values, (name,), {name: name}))


def _told_numbers(values: Value, names: Iterable[str], label: Mapping[str, str]) -> str:
    """Format the numbers that differ from their neutral value when written with one digit."""
    neutral = type(values)()
    told = ((name, f"{getattr(values, name):z.1f}") for name in names)
    return ", ".join(
        f"{label[name]} {shown}"
        for name, shown in told
        if shown != f"{getattr(neutral, name):z.1f}"
    )
