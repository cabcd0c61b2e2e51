"""JSON Schemas as Gemini takes them: what it does not know is left out or said in other words."""

from collections.abc import Mapping
from typing import Any

_KNOWN = frozenset(
    {
        "$defs",
        "$ref",
        "additionalProperties",
        "anyOf",
        "default",
        "description",
        "enum",
        "format",
        "items",
        "maxItems",
        "maxLength",
        "maximum",
        "minItems",
        "minLength",
        "minimum",
        "oneOf",
        "pattern",
        "prefixItems",
        "properties",
        "required",
        "title",
        "type",
    }
)
_NAMED = frozenset({"$defs", "properties"})
_NESTED = _NAMED | {"additionalProperties", "anyOf", "items", "oneOf", "prefixItems"}
_BESIDE_REFERENCE = {"$ref", "$defs"}
_DEEPEST = 64


def gemini_schema(schema: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """Return the schema without keywords that Gemini rejects or ignores.

    A `const` becomes an `enum` of one value, an exclusive bound an inclusive one. The schema may
    become wider, since the action validates its arguments again.
    """
    if depth > _DEEPEST:
        return {}
    whole = _merge_all_of(schema)
    kept = {key: value for key, value in whole.items() if key in _KNOWN}
    if "const" in whole:
        kept["enum"] = [whole["const"]]
    _widen(kept, whole, "exclusiveMinimum", "minimum", 1)
    _widen(kept, whole, "exclusiveMaximum", "maximum", -1)
    for key in _NESTED & kept.keys():
        kept[key] = _within(key, kept[key], depth)
    return _reference_alone(kept)


def _within(key: str, value: Any, depth: int) -> Any:
    """Convert the schemas inside a keyword's value; true and false are schemas too."""
    match value:
        case Mapping() if key in _NAMED:
            return {name: _within("items", part, depth) for name, part in value.items()}
        case Mapping():
            return gemini_schema(value, depth + 1)
        case list() | tuple():
            return [_within("items", part, depth) for part in value]
        case _:
            return value


def _merge_all_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the parts of `allOf`, which Gemini does not support, into the schema."""
    parts = schema.get("allOf")
    if not isinstance(parts, list | tuple):
        return dict(schema)
    whole: dict[str, Any] = {}
    for part in parts:
        whole |= part if isinstance(part, Mapping) else {}
    return whole | dict(schema)


def _widen(
    kept: dict[str, Any], whole: Mapping[str, Any], exclusive: str, inclusive: str, step: int
) -> None:
    """Replace an exclusive bound by an inclusive one, exactly so for integers."""
    bound = whole.get(exclusive)
    if isinstance(bound, bool) or not isinstance(bound, int | float):
        return
    exact = whole.get("type") == "integer" and isinstance(bound, int)
    kept.setdefault(inclusive, bound + step if exact else bound)


def _reference_alone(schema: dict[str, Any]) -> dict[str, Any]:
    """Move a `$ref` with sibling keywords into `anyOf`: Gemini allows no siblings."""
    if "$ref" not in schema or schema.keys() <= _BESIDE_REFERENCE:
        return schema
    reference = {"$ref": schema.pop("$ref")}
    return {**schema, "anyOf": [*schema.get("anyOf", ()), reference]}
