"""Actions in words: what an action's line in a session says happened, for people."""

import json
from json import JSONDecodeError, JSONDecoder
from typing import Any

from opencrab.domain.conversation.message import Line, LineKind
from opencrab.domain.value import Language
from opencrab.ports.turn.action import Actions, one_visible_line

_UNKNOWN = {Language.EN: "Use {name}", Language.JA: "{name}を使う"}


def session_action_in_words(actions: Actions, line: Line, language: Language) -> str | None:
    """Return what an action's line says in one sentence; None for other lines.

    An action that is not known here, or not any more, is named.
    """
    if line.kind is not LineKind.ACTION:
        return None
    data = line.data or {}
    name = str(data.get("name", line.text))
    action = actions.find(name)
    if action is None:
        return _UNKNOWN[language].format(name=one_visible_line(name))
    return action.sentence(_arguments(data.get("arguments")), language)


def _arguments(kept: object) -> dict[str, Any]:
    """Return the arguments that a line kept; of those that were cut, the ones that are whole."""
    if isinstance(kept, dict):
        return kept
    text = str(kept or "{}")
    try:
        found = json.loads(text)
    except JSONDecodeError:
        return _whole_arguments(text)
    return found if isinstance(found, dict) else {}


def _whole_arguments(text: str) -> dict[str, Any]:
    decoder, found, place = JSONDecoder(), dict[str, Any](), 1
    while True:
        try:
            name, place = decoder.raw_decode(text, place)
            value, place = decoder.raw_decode(text, text.index(":", place) + 2)
            found[str(name)] = value
            place = text.index(",", place) + 2
        except ValueError:
            return found
