"""Lenient reading of what providers send: values are taken where they make sense, else left."""

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from opencrab.adapters.providers.transport.exchange import response_excerpt
from opencrab.adapters.providers.wire.text import repair_wire_json, repair_wire_text
from opencrab.domain.models.fault import Fault, ModelCallFailed

RAW_BYTES = 4_096
"""How much of unreadable arguments is kept, so that the model can be shown its mistake."""

_MOST_TOKENS = 2**31 - 1
_LABEL_LENGTH = 200
_NUMBER = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{1,18})?")
_DURATION = re.compile(
    r"(?:(?P<h>[0-9]{1,9})h)?(?:(?P<m>[0-9]{1,9})m(?!s))?"
    r"(?:(?P<s>[0-9]{1,9}(?:\.[0-9]{1,18})?)s)?(?:(?P<ms>[0-9]{1,12}(?:\.[0-9]{1,18})?)ms)?"
)
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


def parse_provider_json(body: bytes, provider: str = "the provider") -> Any:
    """Parse a response body as JSON; white space and a byte order mark are allowed.

    Raises ModelCallFailed (NONSENSE), with the provider and the beginning of the body, if it is no
    JSON.
    """
    try:
        return json.loads(body.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        message = f"the answer of {provider} is not JSON: {response_excerpt(body)!r}"
        raise ModelCallFailed(message, Fault.NONSENSE) from None


def wire_dict(value: Any) -> dict[str, Any]:
    """Return the value if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def wire_list(value: Any) -> list[Any]:
    """Return the value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def wire_token_count(value: Any) -> int:
    """Return a number of tokens, also from text; 0 if it is malformed or negative."""
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value) if "." in value else int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    # A comparison that NaN fails as well.
    return int(min(value, _MOST_TOKENS)) if value > 0 else 0


def as_wire_label(value: Any) -> str:
    """Return a short name, such as a model or finish reason; empty if it is no text."""
    return repair_wire_text(value)[:_LABEL_LENGTH] if isinstance(value, str) else ""


def wire_json_excerpt(value: Any) -> str:
    """Return the beginning of a value as JSON, for an error message."""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        text = type(value).__name__
    return text[:RAW_BYTES]


def wire_tool_arguments(arguments: Any) -> dict[str, Any] | None:
    """Parse a tool call's arguments, JSON text or an object; None if they are unreadable."""
    try:
        if isinstance(arguments, str):
            arguments = json.loads(arguments) if arguments.strip() else {}
        if arguments is None:
            return {}
        return repair_wire_json(arguments) if isinstance(arguments, dict) else None
    except (ValueError, RecursionError):
        return None


def are_wire_arguments_ambiguous(arguments: Any) -> bool:
    """Check whether truncated arguments cannot be told from complete ones.

    Servers close the brackets of truncated arguments, or send an empty object. Only the raw text of
    a stream shows the truncation.
    """
    return not (isinstance(arguments, str) and arguments.strip())


def raw_wire_tool_arguments(arguments: Any) -> str:
    """Return unreadable arguments as text, cut to RAW_BYTES."""
    text = arguments if isinstance(arguments, str) else wire_json_excerpt(arguments)
    return repair_wire_text(text[:RAW_BYTES]).encode()[:RAW_BYTES].decode("utf-8", "ignore")


def wire_duration_seconds(duration: Any) -> float | None:
    """Parse a duration such as "34.4s", "6ms" or "1m0.052s"; None for anything else."""
    found = _DURATION.fullmatch(duration) if isinstance(duration, str) else None
    if found is None:
        return None
    parts = [float(part) * _UNITS[unit] for unit, part in found.groupdict().items() if part]
    return math.fsum(parts) if parts else None


def wire_retry_hint(seconds: float | None) -> str:
    """Return the part of a rate limit message that says when to retry; empty if unknown."""
    return "" if seconds is None else f"; retry in {seconds:g} s"


def wire_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of the retry-after-ms or retry-after header; None if absent or a date."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = headers.get(name, "").strip()
        if _NUMBER.fullmatch(text):
            return max(float(text) * unit, 0.0)
    return None
