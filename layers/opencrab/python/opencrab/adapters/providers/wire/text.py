"""Text and JSON as providers send them, repaired where they are broken."""

import math
from typing import Any

MAX_DEPTH = 64
"""Deepest nesting of arguments that is read: nobody means more."""


def repair_wire_text(text: str) -> str:
    """Join surrogate pairs, replace lone surrogates, and remove NUL characters."""
    if not text.isascii():
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\x00", "")


def complete_wire_characters(text: str) -> str:
    """Return a text that is still arriving without the first half of a surrogate pair at its end.

    Servers may split an emoji between two chunks, each half escaped as JSON has it.
    """
    return text[:-1] if text and "\ud800" <= text[-1] <= "\udbff" else text


def repair_wire_json(value: Any, depth: int = 0) -> Any:
    """Repair the texts of a JSON value.

    Raises ValueError for NaN and Infinity, which are not JSON, and for too deep nesting.
    """
    if depth > MAX_DEPTH:
        raise ValueError(f"JSON is nested deeper than {MAX_DEPTH} levels")
    match value:
        case str():
            return repair_wire_text(value)
        case float() if not math.isfinite(value):
            raise ValueError(f"{value} is not a finite number")
        case dict():
            return {
                repair_wire_text(str(key)): repair_wire_json(item, depth + 1)
                for key, item in value.items()
            }
        case list():
            return [repair_wire_json(item, depth + 1) for item in value]
        case _:
            return value
