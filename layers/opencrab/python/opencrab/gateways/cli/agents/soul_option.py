"""Traits: a personality as somebody types it, `openness=0.8,hobby=chess`, as part of a soul."""

from difflib import get_close_matches
from typing import Any

from opencrab.domain.errors import Invalid

_PLACES: dict[str, tuple[str, ...]] = {
    "personality": (
        "openness",
        "conscientiousness",
        "extraversion",
        "agreeableness",
        "neuroticism",
    ),
    "social_style": ("assertiveness", "responsiveness"),
    "drives": ("risk_tolerance", "collaboration", "depth_vs_breadth", "quality_vs_speed"),
}
_PLACE_OF = {name: place for place, names in _PLACES.items() for name in names}
NUMBERS = ", ".join(_PLACE_OF)
TRAITS_HELP = f"For example openness=0.8,hobby=chess; numbers: {NUMBERS}."
PERSONA_NAME = 100


def soul_with_traits(soul: dict[str, Any], text: str) -> dict[str, Any]:
    """Return the soul with the traits `name=value`: known names take numbers, other names words.

    Raises Invalid for any other text, naming the nearest known name.
    """
    changed = {
        part: dict(value) if isinstance(value, dict) else value for part, value in soul.items()
    }
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = (part.strip() for part in entry.partition("="))
        if not (name and equals and value):
            raise _invalid(f"{entry!r} is not of the form name=value")
        number = _number(value)
        if name in _PLACE_OF:
            if number is None:
                raise _invalid(f"{name} must be a number, not {value!r}")
            place = _PLACE_OF[name]
            changed[place] = {**(changed.get(place) or {}), name: number}
        elif number is not None:
            raise _invalid(f"there is no numeric trait {name!r}", name)
        else:
            changed.setdefault("custom_traits", {})[name] = value
    return changed


def soul_with_persona(soul: dict[str, Any], text: str) -> dict[str, Any]:
    """Return the soul with a persona: a name, or a description if it is too long for a name."""
    line = text.strip()
    if len(line) <= PERSONA_NAME and "\n" not in line:
        return {**soul, "persona_name": line}
    traits = {**soul.get("custom_traits", {}), "persona": line}
    return {**soul, "custom_traits": traits}


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _invalid(message: str, name: str = "") -> Invalid:
    near = get_close_matches(name, _PLACE_OF, n=1)
    cure = f"did you mean {near[0]}?" if near else f"the numbers are {NUMBERS}"
    return Invalid(message, field="traits", cure=cure)
