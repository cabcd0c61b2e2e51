"""Errors as scripts read them, one line of JSON on standard error."""

from typing import Any

USAGE = "usage"
"""The type of an error of the command line itself, which no server sees."""


def error_json_for_scripts(
    kind: str, message: str, cure: str | None, *, field: str | None = None
) -> dict[str, Any]:
    """Return an error; `type` is the code of a problem document."""
    error = {"type": kind, "message": message, "cure": cure or None}
    return error | ({"field": field} if field else {})
