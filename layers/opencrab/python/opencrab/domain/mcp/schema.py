"""JSON Schemas of an MCP tool's arguments: made small and safe, and compared with a call."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from opencrab.domain.errors import Invalid
from opencrab.domain.mcp.text import DESCRIPTION, has_hidden_mcp_text, visible_mcp_text

SCHEMA_BYTES = 16 * 1024
"""The largest schema of one tool's arguments, in bytes of JSON."""

_DEPTH = 12
_PARTS = 1_000
_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_KEPT = frozenset(
    {"type", "description", "enum", "const", "items", "properties", "required", "anyOf", "oneOf"}
    | {"allOf", "default", "format", "additionalProperties", "prefixItems", "nullable"}
)
"""Keywords that models read; the server itself checks the others."""

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _are_types(value: object) -> bool:
    named = [value] if isinstance(value, str) else value
    return isinstance(named, list) and bool(named) and all(each in tuple(_TYPES) for each in named)


_VALID: Mapping[str, Callable[[object], bool]] = {
    "type": _are_types,
    "enum": lambda value: isinstance(value, list) and bool(value),
    "required": _are_texts,
    "format": lambda value: isinstance(value, str),
    "nullable": lambda value: isinstance(value, bool),
    "additionalProperties": lambda value: isinstance(value, bool),
}
"""What a keyword may say: providers refuse a whole request for one that says anything else."""


def mcp_argument_schema(schema: object) -> dict[str, Any]:
    """Return a tool's schema without references, rare keywords and what people would not see.

    Raises Invalid for one that describes no object, is too large, or has invisible names.
    """
    if not isinstance(schema, Mapping) or schema.get("type", "object") != "object":
        raise Invalid("the schema of its arguments describes no object")
    if not isinstance(schema.get("properties", {}), Mapping):
        raise Invalid("the schema of its arguments has no table of properties")
    found = _Reading(schema).plain(schema)
    found["type"] = "object"
    found.setdefault("properties", {})
    told = json.dumps(found, ensure_ascii=False)
    if has_hidden_mcp_text(told):
        # A call needs names and choices as they are, and people would not see what they say.
        raise Invalid("the schema of its arguments has invisible characters in names or values")
    size = len(told.encode())
    if size > SCHEMA_BYTES:
        raise Invalid(
            f"the schema of its arguments takes {size} bytes, at most {SCHEMA_BYTES} are read"
        )
    return found


def find_mcp_argument_problem(
    schema: Mapping[str, Any], arguments: Mapping[str, Any]
) -> str | None:
    """Return what is wrong with the arguments of a call, by name, type and choice; None if nothing.

    The server checks the rest.
    """
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in arguments:
            return f"{name} is missing"
    for name, value in arguments.items():
        if name not in properties:
            if schema.get("additionalProperties") is False:
                return f"{name} is no argument; there are: {', '.join(properties) or 'none'}"
            continue
        rule = properties[name]
        if isinstance(rule, Mapping) and not _fits(rule, value):
            return f"{name} must match {json.dumps(_expectation(rule), ensure_ascii=False)[:300]}"
    return None


def _fits(rule: Mapping[str, Any], value: object) -> bool:
    choices = rule.get("enum")
    if isinstance(choices, list) and value not in choices:
        return False
    named = rule.get("type")
    kinds = [named] if isinstance(named, str) else named
    if not isinstance(kinds, list):
        return True
    if isinstance(value, bool):
        return "boolean" in kinds
    known = [kind for kind in kinds if isinstance(kind, str) and kind in _TYPES]
    if value is None and rule.get("nullable") is True:
        return True
    if isinstance(value, float) and value.is_integer() and "integer" in known:
        return True
    return not known or any(isinstance(value, _TYPES[kind]) for kind in known)


def _expectation(rule: Mapping[str, Any]) -> dict[str, Any]:
    return {key: rule[key] for key in ("type", "enum") if key in rule}


class _Reading:
    """One schema being read: inner references are filled in, a nested one ends in `{}`."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._left = _PARTS

    def plain(self, part: Any, depth: int = _DEPTH) -> dict[str, Any]:
        """Return a part without references; raises Invalid if there are too many parts."""
        self._left -= 1
        if self._left < 0:
            raise Invalid(f"the schema of its arguments has more than {_PARTS} parts")
        if not isinstance(part, Mapping) or depth == 0:
            return {}
        if isinstance(part.get("$ref"), str):
            part = {**_definition(part["$ref"], self._root), **part}
        found = {key: value for key, value in part.items() if key in _KEPT}
        return {
            key: inner
            for key, value in found.items()
            if (inner := self._keyword(key, value, depth - 1)) is not None
        }

    def _keyword(self, key: str, value: Any, depth: int) -> Any:
        """Return what a keyword says, or None if it says nothing that can be read."""
        if key == "properties":
            if not isinstance(value, Mapping):
                return None
            return {str(name): self.plain(each, depth) for name, each in value.items()}
        if key in _LISTS:
            if not isinstance(value, list):
                return None
            return [self.plain(each, depth) for each in value]
        if key == "items" or (key == "additionalProperties" and isinstance(value, Mapping)):
            return self.plain(value, depth)
        if key == "description":
            value = visible_mcp_text(str(value), DESCRIPTION)
        return value if key not in _VALID or _VALID[key](value) else None


def _definition(reference: str, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a definition of the same schema; an empty one for every other address."""
    if not reference.startswith("#/"):
        return {}
    found: Any = root
    for step in reference[2:].split("/"):
        if not isinstance(found, Mapping) or step not in found:
            return {}
        found = found[step]
    return found if isinstance(found, Mapping) else {}
