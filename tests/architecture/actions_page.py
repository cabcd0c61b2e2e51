"""Every action as the product offers it, for people: one table for each group.

`python -m tests.architecture.actions_page > docs/actions.md` writes the page.
"""

import json
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from opencrab.actions import GROUPS, Group
from opencrab.domain.access.authority import Authority, authority_permits
from opencrab.domain.value import Language
from opencrab.ports.turn.action import ARGUMENT_BYTES, RESULT_BYTES, Action

_HEAD = "| action | arguments | impact | effect | bytes in, out | who may | what it is for |"
_RULE = "|---|---|---|---|---|---|---|"
_KIBIBYTE = 1024


def page(groups: Iterable[Group]) -> str:
    """The page of documentation."""
    listed = sorted(groups, key=lambda group: group.name)
    count = sum(len(group.actions) for group in listed)
    lines = [
        "# Actions",
        "",
        "Written by `python -m tests.architecture.actions_page` from the code of the actions; a",
        f"test keeps it true. There are {count} actions in {len(listed)} groups.",
        "",
        "- Arguments are written `name: type = default`; those without a default are required.",
        "- *Impact* is what an action touches. Where it ends in `+`, a call may weigh more than",
        "  that, by its arguments.",
        "- *Effect* is what a crash may do to it: `pure` runs again, `transactional` is committed",
        "  with its result, `keyed` has a condition that makes a repeat harmless, `once` is never",
        "  repeated.",
        "- *Bytes* are the most that arguments and result may have as JSON: "
        f"{_size(ARGUMENT_BYTES)} and {_size(RESULT_BYTES)}",
        "  unless the action says otherwise.",
        "- *Who may* names on whose behalf a turn may use it: "
        f"{', '.join(authority.value for authority in Authority)}.",
        "  Whether it then runs unasked is for the agent's approval policy to say.",
    ]
    for group in listed:
        lines += ["", f"## {group.name}", "", _HEAD, _RULE]
        lines += map(row, sorted(group.actions, key=lambda action: action.name))
    return "\n".join(lines) + "\n"


def row(action: Action) -> str:
    """One action as a row of its group's table."""
    impact = f"{action.impact.value}{'+' if action.impact_of else ''}"
    words = f"{action.descriptions[Language.EN]}<br>{action.descriptions[Language.JA]}"
    cells = (
        f"`{action.name}`",
        "<br>".join(f"`{each}`" for each in arguments(action)) or "none",
        impact,
        action.effect.value,
        f"{_size(action.argument_bytes)}, {_size(action.result_bytes)}",
        who_may(action),
        words,
    )
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def arguments(action: Action) -> Iterator[str]:
    """The arguments with their types and defaults, in their order."""
    told = action.schema(Language.EN).parameters.get("properties", {})
    for name, field in action.arguments.model_fields.items():
        default = field.get_default(call_default_factory=True)
        shown = "" if field.is_required() else f" = {_json(default)}"
        yield f"{name}: {_type(told[name])}{shown}"


def who_may(action: Action) -> str:
    """On whose behalf a turn may use an action at all."""
    allowed = [
        authority.value
        for authority in Authority
        if authority_permits(authority, action.impact, for_peers=action.for_peers)
    ]
    return "all" if len(allowed) == len(Authority) else ", ".join(allowed)


def _type(about: dict[str, Any]) -> str:
    if "enum" in about:
        return "|".join(map(str, about["enum"]))
    if "const" in about:
        return str(about["const"])
    if "anyOf" in about:
        return "|".join(_type(each) for each in about["anyOf"])
    kind = str(about.get("type", "any"))
    return f"{kind} of {_type(about['items'])}" if kind == "array" and "items" in about else kind


def _json(value: object) -> str:
    return "unset" if value is None else json.dumps(value, ensure_ascii=False)


def _size(count: int) -> str:
    return f"{count // _KIBIBYTE} KiB" if count % _KIBIBYTE == 0 else f"{count}"


if __name__ == "__main__":
    sys.stdout.write(page(GROUPS))
