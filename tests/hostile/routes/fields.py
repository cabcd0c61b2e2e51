"""Every text field by which foreign words can enter, read off the schemas of the product."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from opencrab.actions import GROUPS
from opencrab.ports.turn.action import Action

CANARY = "夕なぎcanary"
"""What is followed: a letter of each script, and no space, so that names take it too."""

SLUG = "evening_calm_canary"
"""The canary of fields with a pattern, such as ids, which take no other letters."""

WORD = "海memo"
Place = tuple[str, ...]
Schema = dict[str, Any]


@dataclass(frozen=True)
class Field:
    """One text field: of an action's arguments, of a stored record, or of a request."""

    kind: str
    owner: str
    path: Place
    word: str = CANARY

    def __str__(self) -> str:
        how = " as a slug" if self.word == SLUG else ""
        return f"{self.kind} {self.owner} {'.'.join(self.path)}{how}"


def action_fields() -> tuple[Field, ...]:
    """The text fields of every action's arguments; those with a pattern once more, with a slug."""
    return tuple(
        Field("action", action.name, path, word)
        for action in actions().values()
        for word in (CANARY, SLUG)
        for path in text_paths(action.arguments.model_json_schema(), slugs=word == SLUG)
    )


def actions() -> dict[str, Action]:
    """Every action of the product by its name."""
    return {action.name: action for group in GROUPS for action in group.actions}


def text_paths(schema: Schema, *, slugs: bool = False) -> tuple[Place, ...]:
    """Where texts may stand in a value of this schema; `[]` is an item, `{}` any key.

    With `slugs` only where a pattern says what they look like.
    """
    kind = Kind(schema, schema.get("$defs", {}))
    return tuple(dict.fromkeys(_texts(kind, (), slugs=slugs)))


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


def _texts(kind: Kind, path: Place, *, slugs: bool = False) -> Iterator[Place]:
    for each in kind.choices() if len(path) < _DEEPEST else ():
        schema = each.schema
        if schema.get("type") == "string" and not {"enum", "const", "format"} & set(schema):
            yield from (path,) if not slugs or "pattern" in schema else ()
        elif schema.get("type") == "array":
            yield from _texts(kind.of(schema.get("items", {})), (*path, "[]"), slugs=slugs)
        elif schema.get("type") == "object":
            for name, inner in schema.get("properties", {}).items():
                yield from _texts(kind.of(inner), (*path, name), slugs=slugs)
            if not slugs and schema.get("additionalProperties", not schema.get("properties")):
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


def placed(kind: Kind, path: Place, value: Any, needed: Schema, word: str = CANARY) -> Any:
    """The value with the canary at this place; what leads there is made if it is not there."""
    if not path:
        return word
    head, rest = path[0], path[1:]
    schema = next(each.schema for each in kind.choices() if path in set(_texts(each, ())))
    if head == "{}":
        return {**(value or {}), "title": word}
    if head == "[]":
        inner = kind.of(schema.get("items", {}))
        first, *others = value or [example(inner, needed)]
        return [placed(inner, rest, first, needed, word), *others]
    inner = kind.of(schema["properties"][head])
    made = dict(value or {})
    found = made.get(head) if head in made or not rest else example(inner, needed, head)
    return {**made, head: placed(inner, rest, found, needed, word)}
