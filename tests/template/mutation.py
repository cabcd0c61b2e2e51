"""A change of the real template that breaks exactly one rule.

A path leads through the transformed template to a value. A part that begins with `~` takes the
first key that begins with the rest, or the first element of a list that has the rest anywhere.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.template.rules import Rule

GONE = object()
"""The new value of what is taken away."""


@dataclass(frozen=True)
class Mutation:
    """A change at one place, in words and in deed, and the rule that it breaks."""

    rule: Rule
    words: str
    path: str
    value: Any

    def __str__(self) -> str:
        return f"{self.rule.__name__}: {self.words}"

    def apply(self, templates: dict[str, Any]) -> None:
        """Change templates in place."""
        stack, *path = self.path.split("/")
        place: Any = templates[STACKS[stack]]
        *way, last = ["Resources", *path]
        for part in way:
            place = place[_found(place, part)]
        last = _found(place, last)
        if self.value is GONE:
            del place[last]
        else:
            place[last] = self.value(place[last]) if callable(self.value) else self.value


STACKS = {
    "template": "template.yaml",
    "data": "infra/data.yaml",
    "observability": "infra/observability.yaml",
    "page": "infra/page.yaml",
    "search": "infra/search.yaml",
    "search_efs": "infra/search_efs.yaml",
    "websocket": "infra/websocket.yaml",
}


def _found(place: Any, part: str) -> Any:
    """The key or index that a part of a path means."""
    if not part.startswith("~"):
        return int(part) if isinstance(place, list) else part
    if isinstance(place, list):
        return next(at for at, each in enumerate(place) if part[1:] in json.dumps(each))
    return next(key for key in place if key.startswith(part[1:]))


def extended_by(*more: Any) -> Callable[[Any], list[Any]]:
    """A list with more at its end; what stands alone becomes a list."""
    return lambda old: [*(old if isinstance(old, list) else [old]), *more]


def statement(role: str, having: str) -> str:
    """The path to the first statement of a role that has this text."""
    return f"template/{role}/Properties/Policies/0/PolicyDocument/Statement/~{having}"
