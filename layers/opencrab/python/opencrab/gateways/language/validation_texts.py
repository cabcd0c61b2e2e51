"""Validation texts: what pydantic's errors are told as, and what to do about them, in English.

What they say themselves is for programmers, has no translation and may change with their release.
"""

from collections.abc import Mapping
from typing import Any

from opencrab.ports.texts import Texts

_TEXTS = Texts(__file__)
_OF_TEXTS = {"too_short": "string_too_short", "too_long": "string_too_long"}


def explain_validation_error(error: Mapping[str, Any]) -> tuple[str, str]:
    """Return what is wrong with a field, and what to do about it, "" if nothing better is known."""
    kind, facts = str(error["type"]), error.get("ctx") or {}
    if kind in _OF_TEXTS and isinstance(error.get("input"), str):
        # Where a field may also be a list, its texts are measured like one.
        kind = _OF_TEXTS[kind]
    if kind in _TEXTS:
        told, cure = (text.format_map(_Facts(facts)) for text in _TEXTS[kind].values())
        return told, cure
    if kind == "value_error":
        told, _, cure = str(facts.get("error", "")).partition(": ")
        return told, cure
    message = str(error["msg"])
    return message[:1].lower() + message[1:], ""


class _Facts(dict[str, Any]):
    """The values in a validation error; a missing one shows as a dash."""

    def __missing__(self, key: str) -> str:
        return "-"
