"""JSON of elsewhere, where any field may be missing or of another type."""

import json
from datetime import UTC, datetime
from typing import Any

from opencrab.domain.errors import Invalid
from opencrab.engine.bundle.found import SourceFiles


def source_json(files: SourceFiles, name: str) -> Any:
    """Return the JSON of a file; raises Invalid, which names the file."""
    return source_json_of_text(files.read(name), name)


def source_json_of_text(content: bytes | str, name: str) -> Any:
    """Parse JSON; raises Invalid, which names where it comes from."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise Invalid(
            f"{name!r} is not valid JSON", field="source", cure="export it again, unchanged"
        ) from None


def source_dict(value: Any) -> dict[str, Any]:
    """Return a value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def source_list(value: Any) -> list[Any]:
    """Return a value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def source_string(value: Any) -> str:
    """Return a value if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def source_time(value: Any) -> datetime | None:
    """Return seconds or milliseconds since 1970, or an ISO text, as a time; None for others."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            seconds = value / 1_000 if value > 10**11 else value
            return datetime.fromtimestamp(seconds, UTC)
        if isinstance(value, str) and value:
            found = datetime.fromisoformat(value)
            return found if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None
