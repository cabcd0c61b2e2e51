"""Values of environment variables, which are texts, as the type of a setting's default."""

import math
from typing import Any

from opencrab.domain.errors import Invalid

_PREFIX = "OPENCRAB_"

_SWITCHES = {"true": True, "1": True, "false": False, "0": False}


def variable_of_setting(name: str) -> str:
    """Return the environment variable that sets a setting."""
    return _PREFIX + name.upper().replace(".", "__")


def setting_of_variable(variable: str) -> str | None:
    """Return the setting that a variable is named for; None if it is for none."""
    if not variable.startswith(_PREFIX) or "__" not in variable:
        return None
    return variable.removeprefix(_PREFIX).lower().replace("__", ".")


def variable_value_like(default: Any, text: str, variable: str) -> Any:
    """Convert a variable's text to the type of the setting's default; raises Invalid."""
    try:
        if isinstance(default, bool):
            return _SWITCHES[text.strip().lower()]
        if isinstance(default, int):
            return int(text)
        if isinstance(default, float):
            return _finite(float(text))
        if isinstance(default, list):
            return [part.strip() for part in text.split(",") if part.strip()]
    except (KeyError, ValueError):
        expected = type(default).__name__
        raise Invalid(
            f"{variable} must be of type {expected}, not {text!r}",
            field=variable,
            cure="correct it or remove it; docs/reference/configuration.md lists the settings",
        ) from None
    return text


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise ValueError
    return number
