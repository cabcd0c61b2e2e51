"""Rules of settings: which type, range or form the value of a setting must have."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""A reference to an environment variable, which stands in texts only."""

SECRET_NAME = re.compile(
    r"(^|[_-])(key|secret|token|password|passwd|authorization|auth|cookie|credentials?)$"
)
"""The last part of a name whose value is a secret, in small letters."""

_USER_IN_ADDRESS = re.compile(r"://[^/?#\s]*@")


class SettingKind(StrEnum):
    """The type of a setting's value; a model is a text, or a table of provider and model."""

    TEXT = "text"
    WHOLE = "whole"
    NUMBER = "number"
    SWITCH = "switch"
    TEXTS = "texts"
    MODEL = "model"
    SECRET = "secret"  # noqa: S105 - the name of a type


@dataclass(frozen=True)
class SettingProblem:
    """What is wrong with a setting, as the key of a sentence and the facts in it."""

    code: str
    facts: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class SettingRule:
    """What a setting's value must be.

    `least` and `most` limit numbers, and `above` is a limit that is itself excluded. `pattern` is
    for a text, or for each text of a list, and `example` follows it; that of a secret says what may
    stand around its variable. `judge` returns what is wrong
    with a value of the right type. `fixed` are the only values of a setting that cannot be changed;
    the sentence `fixed_` and `reason` says why.
    """

    kind: SettingKind
    least: float | None = None
    most: float | None = None
    above: float | None = None
    choices: tuple[str, ...] = ()
    pattern: str = ""
    example: str = ""
    judge: Callable[[Any], SettingProblem | None] | None = None
    fixed: tuple[object, ...] = ()
    reason: str = ""


def find_setting_problem(rule: SettingRule, value: object) -> SettingProblem | None:
    """Return what is wrong with a setting's value; None if it follows the rule."""
    if rule.fixed:
        return None if value in rule.fixed else SettingProblem(f"fixed_{rule.reason}")
    if rule.kind is SettingKind.SECRET:
        form = rule.pattern or VARIABLE.pattern
        is_reference = isinstance(value, str) and (not value or re.fullmatch(form, value))
        return None if is_reference else SettingProblem("secret")
    if not _HAS_TYPE[rule.kind](value):
        return SettingProblem(f"type_{rule.kind}")
    if isinstance(value, str) and _USER_IN_ADDRESS.search(value):
        return SettingProblem("secret")
    if _has_variable(value):
        return None
    problem = _range_problem(rule, value) or _form_problem(rule, value)
    return problem if problem is not None or rule.judge is None else rule.judge(value)


def _is_model(value: object) -> bool:
    if isinstance(value, str):
        return bool(value.strip())
    return (
        isinstance(value, Mapping)
        and set(value) == {"provider", "model"}
        and all(isinstance(each, str) and each.strip() for each in value.values())
    )


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return _is_whole(value) or (isinstance(value, float) and math.isfinite(value))


def _is_list_of_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


_HAS_TYPE: Mapping[SettingKind, Callable[[object], bool]] = {
    SettingKind.TEXT: lambda value: isinstance(value, str),
    SettingKind.WHOLE: _is_whole,
    SettingKind.NUMBER: _is_number,
    SettingKind.SWITCH: lambda value: isinstance(value, bool),
    SettingKind.TEXTS: _is_list_of_texts,
    SettingKind.MODEL: _is_model,
}


def _has_variable(value: object) -> bool:
    if isinstance(value, list):
        return any(_has_variable(each) for each in value)
    return isinstance(value, str) and VARIABLE.search(value) is not None


def _range_problem(rule: SettingRule, value: Any) -> SettingProblem | None:
    if rule.kind not in {SettingKind.WHOLE, SettingKind.NUMBER}:
        return None
    least, most, above = rule.least, rule.most, rule.above
    is_low = (least is not None and value < least) or (above is not None and value <= above)
    if not is_low and (most is None or value <= most):
        return None
    if above is not None:
        return SettingProblem("range_above", {"above": f"{above:,}", "most": f"{most:,}"})
    if most is None:
        return SettingProblem("range_least", {"least": f"{least:,}"})
    return SettingProblem("range", {"least": f"{least:,}", "most": f"{most:,}"})


def _form_problem(rule: SettingRule, value: Any) -> SettingProblem | None:
    texts: Sequence[Any] = value if isinstance(value, list) else (value,)
    for text in texts:
        if rule.choices and text not in rule.choices:
            return SettingProblem("choice", {"choices": ", ".join(rule.choices)})
        if rule.pattern and not re.fullmatch(rule.pattern, text):
            return SettingProblem("form", {"text": text, "example": rule.example})
    return None
