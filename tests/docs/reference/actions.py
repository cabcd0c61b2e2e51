"""The page of all actions as the product offers them: one table for each group."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from opencrab.actions import GROUPS, Group
from opencrab.domain.access.authority import Authority, authority_permits
from opencrab.domain.value import Language
from opencrab.ports.turn.action import ARGUMENT_BYTES, RESULT_BYTES, Action
from tests.docs.reference.text import sentence, table

_TITLE = {Language.EN: "Actions", Language.JA: "アクション"}
_HEAD = {
    Language.EN: (
        *("action", "arguments", "impact", "effect", "bytes in, out", "who may"),
        "what it is for",
    ),
    Language.JA: (
        *("アクション", "引数", "影響範囲", "副作用", "引数・結果の上限", "使える主体"),
        "説明",
    ),
}
_NONE = {Language.EN: "none", Language.JA: "なし"}
_ALL = {Language.EN: "all", Language.JA: "すべて"}
_KIBIBYTE = 1024


def page(language: Language, groups: Iterable[Group] = GROUPS) -> str:
    """The page in one language."""
    listed = sorted(groups, key=lambda group: group.name)
    count = sum(len(group.actions) for group in listed)
    lines = [f"# {_TITLE[language]}", "", _about(language, count, len(listed))]
    for group in listed:
        actions = sorted(group.actions, key=lambda action: action.name)
        rows = [row(action, language) for action in actions]
        lines += ["", f"## {group.name}", "", *table(_HEAD[language], rows)]
    return "\n".join(lines) + "\n"


def row(action: Action, language: Language) -> tuple[str, ...]:
    """One action as a row of its group's table."""
    return (
        f"`{action.name}`",
        "<br>".join(f"`{each}`" for each in arguments(action)) or _NONE[language],
        f"{action.impact.value}{'+' if action.impact_of else ''}",
        action.effect.value,
        f"{_size(action.argument_bytes)}, {_size(action.result_bytes)}",
        who_may(action, language),
        action.descriptions[language],
    )


def arguments(action: Action) -> Iterator[str]:
    """The arguments with their types and defaults, in their order."""
    told = action.schema(Language.EN).parameters.get("properties", {})
    for name, field in action.arguments.model_fields.items():
        default = field.get_default(call_default_factory=True)
        shown = "" if field.is_required() else f" = {_json(default)}"
        yield f"{name}: {_type(told[name])}{shown}"


def who_may(action: Action, language: Language) -> str:
    """On whose behalf a turn may use an action at all."""
    allowed = [
        authority.value
        for authority in Authority
        if authority_permits(authority, action.impact, for_peers=action.for_peers)
    ]
    return _ALL[language] if len(allowed) == len(Authority) else ", ".join(allowed)


def _about(language: Language, count: int, groups: int) -> str:
    return (
        sentence("pages", "actions", language)
        .strip()
        .format(
            count=count,
            groups=groups,
            arguments=_size(ARGUMENT_BYTES),
            results=_size(RESULT_BYTES),
            who=", ".join(authority.value for authority in Authority),
        )
    )


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
