"""Rules: what LINE refuses of a message, by the published specification of the Messaging API."""

from collections.abc import Iterator
from typing import Any

MESSAGES = 5
TEXT, ALT_TEXT, CONFIRM_TEXT, BUTTONS_TEXT = 5_000, 1_500, 240, 160
LABEL, DATA, DISPLAY_TEXT = 20, 300, 300


def units(text: str) -> int:
    """The UTF-16 units of a text, in which LINE counts."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def problems(messages: object) -> Iterator[tuple[str, str]]:
    """Everything that is wrong with the messages of a request: property and reason."""
    if not isinstance(messages, list) or not 1 <= len(messages) <= MESSAGES:
        yield "messages", "Size must be between 1 and 5"
        return
    for place, message in enumerate(messages):
        name = f"messages[{place}]"
        match message:
            case {"type": "text", "text": str(text), **more}:
                yield from _text(f"{name}.text", text, TEXT)
                yield from ((f"{name}.{each}", "is unknown") for each in more)
            case {"type": "template", "altText": str(alt), "template": dict(template), **more}:
                yield from _text(f"{name}.altText", alt, ALT_TEXT)
                yield from _template(f"{name}.template", template)
                yield from ((f"{name}.{each}", "is unknown") for each in more)
            case _:
                yield name, "Must be one of the following types: text, template"


def _template(name: str, template: dict[str, Any]) -> Iterator[tuple[str, str]]:
    kind, actions = template.get("type"), template.get("actions")
    limits = {"confirm": (CONFIRM_TEXT, 2, 2), "buttons": (BUTTONS_TEXT, 1, 4)}
    if kind not in limits or not isinstance(actions, list):
        yield name, "Must be confirm or buttons, with actions"
        return
    longest, fewest, most = limits[kind]
    yield from _text(f"{name}.text", str(template.get("text", "")), longest)
    if not fewest <= len(actions) <= most:
        yield f"{name}.actions", f"Size must be between {fewest} and {most}"
    for place, action in enumerate(actions):
        where = f"{name}.actions[{place}]"
        if action.get("type") != "postback" or set(action) - {
            "type",
            "label",
            "data",
            "displayText",
        }:
            yield where, "Must be a postback"
        yield from _text(f"{where}.label", str(action.get("label", "")), LABEL)
        yield from _text(f"{where}.data", str(action.get("data", "")), DATA)
        yield from _text(f"{where}.displayText", str(action.get("displayText", "x")), DISPLAY_TEXT)


def _text(name: str, text: str, longest: int) -> Iterator[tuple[str, str]]:
    if not text.strip():
        yield name, "May not be empty"
    elif units(text) > longest:
        yield name, f"Length must be between 0 and {longest}"
