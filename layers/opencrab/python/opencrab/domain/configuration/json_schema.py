"""The JSON Schema of settings files, from the rules: editors complete and check by it."""

from collections.abc import Mapping
from typing import Any

from opencrab.domain.configuration.rule import SettingKind, SettingRule
from opencrab.domain.configuration.rules import RULES

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_VARIABLE = r"\$\{[A-Za-z_][A-Za-z0-9_]*\}"
_NAMED = {"type": "string", "minLength": 1}
_MODEL = {
    "anyOf": [
        _NAMED,
        {
            "type": "object",
            "properties": {"provider": _NAMED, "model": _NAMED},
            "required": ["provider", "model"],
            "additionalProperties": False,
        },
    ]
}


def settings_json_schema(
    defaults: Mapping[str, Any], descriptions: Mapping[str, str]
) -> dict[str, Any]:
    """Return the schema; `descriptions` are sentences by the name or pattern of a setting."""
    root = _table({})
    for name, rule in RULES.items():
        if rule.reason == "aws":
            continue
        *path, key = name.split(".")
        place = root
        for part in path:
            place = _inner(place, part)
        told = {"description": descriptions[name]} if name in descriptions else {}
        default = {"default": defaults[name]} if name in defaults else {}
        schema = _of_rule(rule) | told | default
        if key == "*":
            place["additionalProperties"] = schema
        else:
            place["properties"][key] = schema
    return {"$schema": _DIALECT, "title": "OpenCrab settings", **root}


def _table(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _inner(place: dict[str, Any], part: str) -> dict[str, Any]:
    """Return the schema of a table in a table, which is made if there is none."""
    if part == "*":
        if place["additionalProperties"] is False:
            place["additionalProperties"] = _table({})
        found: dict[str, Any] = place["additionalProperties"]
        return found
    inner: dict[str, Any] = place["properties"].setdefault(part, _table({}))
    return inner


def _of_rule(rule: SettingRule) -> dict[str, Any]:
    if rule.fixed:
        return {"enum": list(rule.fixed)}
    if rule.kind is SettingKind.MODEL:
        return dict(_MODEL)
    if rule.kind is SettingKind.SECRET:
        return {"type": "string", "pattern": f"^({rule.pattern or _VARIABLE})?$"}
    if rule.kind is SettingKind.SWITCH:
        return {"type": "boolean"}
    if rule.kind in {SettingKind.WHOLE, SettingKind.NUMBER}:
        return _of_number(rule)
    text = _of_text(rule)
    return {"type": "array", "items": text} if rule.kind is SettingKind.TEXTS else text


def _of_number(rule: SettingRule) -> dict[str, Any]:
    limits = {
        "minimum": rule.least,
        "exclusiveMinimum": rule.above,
        "maximum": rule.most,
    }
    kind = "integer" if rule.kind is SettingKind.WHOLE else "number"
    return {"type": kind} | {key: value for key, value in limits.items() if value is not None}


def _of_text(rule: SettingRule) -> dict[str, Any]:
    """Return the schema of a text; one with a reference to a variable may have any form."""
    if rule.choices:
        return {"type": "string", "anyOf": [{"enum": list(rule.choices)}, {"pattern": _VARIABLE}]}
    if rule.pattern:
        return {"type": "string", "pattern": f"^({rule.pattern})$|{_VARIABLE}"}
    return {"type": "string"}
