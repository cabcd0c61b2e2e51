"""Arguments by chance: as a schema wants them, nearly so, or nothing like it."""

import random
from collections.abc import Callable
from typing import Any

from tests.hostile import words

Pool = Callable[[str], str]
"""A text for a field of this name."""

_HALF = 0.5
_ODD: tuple[Any, ...] = (
    None, True, -1, 0, 10**30, 1e308, float("nan"), float("inf"), "", [], {}, "\ud83d", "\x00",
    ["x"] * 60, {"a": {"b": {}}}, {"name": "publish_page"}, "G1", "[]",
)  # fmt: skip


def valid(schema: dict[str, Any], dice: random.Random, pool: Pool) -> dict[str, Any]:
    """Arguments that mostly are what an action's model asks for."""
    definitions = schema.get("$defs", {})
    needed = set(schema.get("required", ()))
    return {
        name: _value(part, name, definitions, dice, pool)
        for name, part in schema.get("properties", {}).items()
        if name in needed or dice.random() < _HALF
    }


def twisted(arguments: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    """The same with something wrong: a type, a field, a size, a depth."""
    changed: dict[str, Any] = dict(arguments)
    way = dice.randrange(6)
    if way == 0 and changed:
        changed[dice.choice(sorted(changed))] = dice.choice(_ODD)
    elif way == 1:
        changed[dice.choice(("__class__", "impact", "approved", "taint", "self"))] = True
    elif way == 2 and changed:
        changed.pop(dice.choice(sorted(changed)))
    elif way == 3:
        changed["deep"] = _deep(dice.choice((3, 70, 900)))
    elif way == 4 and changed:
        changed[dice.choice(sorted(changed))] = "蟹A\n" * dice.choice((2_000, 40_000))
    else:
        return {str(key): dice.choice(_ODD) for key in changed} or {"x": dice.choice(_ODD)}
    return changed


def _deep(levels: int) -> Any:
    found: Any = "bottom"
    for _ in range(levels):
        found = [found]
    return found


def _value(
    schema: dict[str, Any], name: str, known: dict[str, Any], dice: random.Random, pool: Pool
) -> Any:
    schema = _resolved(schema, known, dice)
    if "const" in schema or "enum" in schema:
        return dice.choice(schema.get("enum", [schema.get("const")]))
    kind = schema.get("type", "string")
    if kind == "array":
        return _listed(schema, name, known, dice, pool)
    if kind == "object":
        if "properties" in schema:
            return valid({**schema, "$defs": known}, dice, pool)
        return {dice.choice(("title", "x", "date")): pool("value")}
    if kind in {"integer", "number"}:
        return _number(schema, dice)
    return {"boolean": dice.random() < _HALF, "null": None}.get(kind, pool(name))


def _resolved(schema: dict[str, Any], known: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    """One of the kinds that a value may have."""
    while True:
        several = next((key for key in ("anyOf", "oneOf", "allOf") if key in schema), None)
        if "$ref" in schema:
            schema = known[schema["$ref"].rpartition("/")[2]]
        elif several:
            schema = dice.choice(schema[several])
        else:
            return schema


def _number(schema: dict[str, Any], dice: random.Random) -> float:
    low, high = int(schema.get("minimum", 0)), int(schema.get("maximum", 30))
    number = dice.choice((low, high, dice.randint(low, max(low, high))))
    return number if schema["type"] == "integer" else float(number)


def _listed(
    schema: dict[str, Any], name: str, known: dict[str, Any], dice: random.Random, pool: Pool
) -> list[Any]:
    if name == "depends_on":
        return []
    many = dice.choice((5, 6, 7)) if name == "tasks" else dice.randrange(3)
    return [_value(schema.get("items", {}), name, known, dice, pool) for _ in range(many)]


def path(dice: random.Random, known: tuple[str, ...]) -> str:
    """A path: one that there is, a plain one, or one that leads out."""
    if known and dice.random() < 0.6:
        return dice.choice(known)
    return dice.choice(words.PATHS)
