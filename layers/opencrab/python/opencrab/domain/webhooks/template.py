"""What a webhook's body says: a template with fields of it, or a summary of all of them."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

SUMMARY_LINES, SUMMARY_CHARACTERS = 80, 8_000
_DEPTH, _VALUE_CHARACTERS = 6, 500
_FIELD = re.compile(r"\{\{\s*([^{}\s][^{}]{0,200}?)\s*\}\}")

_ABSENT = object()


def render_webhook_template(
    template: str, body: Any, missing: Callable[[str], str] = "({})".format
) -> str:
    """Fill in fields such as `{{ user.name }}` and `{{ items.0 }}`.

    A field that the body does not have becomes what `missing` says of its name; an object or a list
    becomes JSON.
    """

    def filled(found: re.Match[str]) -> str:
        value = _field_of(body, found[1])
        return missing(found[1]) if value is _ABSENT else _text_of(value)

    return _FIELD.sub(filled, template)


def summarize_webhook_body(body: Any) -> tuple[str, bool]:
    """Return a body as lines of `field: value`, and whether something was left out."""
    lines, size = list[str](), 0
    for line in _lines("", body, 0):
        size += len(line) + 1
        if len(lines) == SUMMARY_LINES or size > SUMMARY_CHARACTERS:
            return "\n".join(lines), True
        lines.append(line)
    return "\n".join(lines), False


def _field_of(body: Any, path: str) -> Any:
    found = body
    for name in path.split("."):
        if isinstance(found, Mapping) and name in found:
            found = found[name]
        elif isinstance(found, list) and name.isdecimal() and int(name) < len(found):
            found = found[int(name)]
        else:
            return _ABSENT
    return found


def _text_of(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    # Half of a pair of UTF-16 is no text that can be stored.
    return text.encode("utf-8", "replace").decode().replace("\0", "")


def _lines(path: str, value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, Mapping | list) and value and depth < _DEPTH:
        items = value.items() if isinstance(value, Mapping) else enumerate(value)
        for name, each in items:
            yield from _lines(f"{path}.{name}" if path else str(name), each, depth + 1)
        return
    text = _text_of(value)
    shown = text if len(text) <= _VALUE_CHARACTERS else f"{text[: _VALUE_CHARACTERS - 1]}…"
    yield _text_of(f"{path}: {shown}" if path else shown)
