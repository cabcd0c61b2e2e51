"""Every text field by which foreign words can enter, read off the schemas of the product."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from opencrab.actions import GROUPS
from opencrab.ports.turn.action import Action

CANARY = "夕なぎcanary"
"""What is followed: a letter of each script, and no space, so that names take it too."""

WORD = "海memo"
Place = tuple[str, ...]
Schema = dict[str, Any]


@dataclass(frozen=True)
class Field:
    """One text field: of an action's arguments, of a stored record, or of a request."""

    kind: str
    owner: str
    path: Place

    def __str__(self) -> str:
        return f"{self.kind} {self.owner} {'.'.join(self.path)}"


def action_fields() -> tuple[Field, ...]:
    """The text fields of every action's arguments."""
    return tuple(
        Field("action", action.name, path)
        for action in actions().values()
        for path in text_paths(action.arguments.model_json_schema())
    )


def actions() -> dict[str, Action]:
    """Every action of the product by its name."""
    return {action.name: action for group in GROUPS for action in group.actions}


def text_paths(schema: Schema) -> tuple[Place, ...]:
    """Where texts may stand in a value of this schema; `[]` is an item, `{}` any key."""
    return tuple(dict.fromkeys(_texts(Kind(schema, schema.get("$defs", {})), ())))


@dataclass(frozen=True)
class Kind:
    """A schema with the definitions that it names."""

    schema: Schema
    known: Schema

    def of(self, schema: Schema) -> "Kind":
        """Another schema beside this one."""
        return Kind(schema, self.known)

    def choices(self) -> tuple["Kind", ...]:
        """What it stands for: one definition, several kinds, or itself."""
        if "$ref" in self.schema:
            return self.of(self.known[self.schema["$ref"].rpartition("/")[2]]).choices()
        several = [self.of(each) for key in _SEVERAL for each in self.schema.get(key, ())]
        return tuple(kind for each in several for kind in each.choices()) or (self,)


_SEVERAL = ("anyOf", "oneOf", "allOf")
_DEEPEST = 6


def _texts(kind: Kind, path: Place) -> Iterator[Place]:
    for each in kind.choices() if len(path) < _DEEPEST else ():
        schema = each.schema
        if schema.get("type") == "string" and not {"enum", "const", "format"} & set(schema):
            yield path
        elif schema.get("type") == "array":
            yield from _texts(kind.of(schema.get("items", {})), (*path, "[]"))
        elif schema.get("type") == "object":
            for name, inner in schema.get("properties", {}).items():
                yield from _texts(kind.of(inner), (*path, name))
            if schema.get("additionalProperties", not schema.get("properties")):
                yield (*path, "{}")


def example(kind: Kind, needed: Schema, name: str = "") -> Any:
    """A plain value of a kind; a field whose name is in `needed` gets that value."""
    if name in needed:
        return needed[name]
    schema = kind.choices()[0].schema
    if "const" in schema or "enum" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    if schema.get("type") == "array":
        many = max(int(schema.get("minItems", 1)), 1)
        return [example(kind.of(schema.get("items", {})), needed)] * many
    if schema.get("type") == "object":
        rows = schema.get("properties", {})
        wanted = [key for key in rows if key in schema.get("required", ())]
        return {key: example(kind.of(rows[key]), needed, key) for key in wanted}
    plain = {"integer": schema.get("minimum", 1), "number": 0.5, "boolean": True, "null": None}
    return plain.get(schema.get("type", "string"), WORD)


def placed(kind: Kind, path: Place, value: Any, needed: Schema) -> Any:
    """The value with the canary at this place; what leads there is made if it is not there."""
    if not path:
        return CANARY
    head, rest = path[0], path[1:]
    schema = next(each.schema for each in kind.choices() if path in set(_texts(each, ())))
    if head == "{}":
        return {**(value or {}), "title": CANARY}
    if head == "[]":
        inner = kind.of(schema.get("items", {}))
        first, *others = value or [example(inner, needed)]
        return [placed(inner, rest, first, needed), *others]
    inner = kind.of(schema["properties"][head])
    made = dict(value or {})
    found = made.get(head) if head in made or not rest else example(inner, needed, head)
    return {**made, head: placed(inner, rest, found, needed)}
