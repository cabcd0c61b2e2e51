"""Which values are stored, and in which form: JSON Schemas, compared with the last release."""

import ast
import importlib
import json
import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

from pydantic.json_schema import models_json_schema

import opencrab
from opencrab.domain.turn.record import Record
from opencrab.domain.value import Value

RELEASES = Path(__file__).parent / "releases"
FORMS, CORPUS = "forms.json", "corpus.jsonl"

Forms = dict[str, Any]


@cache
def stored_kinds() -> dict[str, type[Value]]:
    """The classes that the package reads from a store, by name; found in its sources."""
    found: dict[str, type[Value]] = {}
    for module in pkgutil.walk_packages(opencrab.__path__, "opencrab."):
        path = Path(getattr(module.module_finder, "path", "")) / f"{module.name.rpartition('.')[2]}"
        source = path / "__init__.py" if module.ispkg else path.with_suffix(".py")
        names = set(_names_read(ast.parse(source.read_text(encoding="utf-8"))))
        if names:
            loaded = importlib.import_module(module.name)
            found |= dict(_values_named(loaded, names))
    found |= {kind.__name__: kind for kind in get_args(get_args(Record)[0])}
    return dict(sorted(found.items()))


def _names_read(tree: ast.AST) -> Iterator[str]:
    """Names X of `X.from_stored` and `fact.read(X)`, and of classes that say `cls.from_stored`."""
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(name=name) if "cls.from_stored" in ast.unparse(node):
                yield name
            case ast.Attribute(value=ast.Name(id=name), attr="from_stored"):
                yield name
            case ast.Call(func=ast.Attribute(attr="read"), args=[ast.Name(id=name)]):
                yield name
            case _:
                pass


def _values_named(module: ModuleType, names: set[str]) -> Iterator[tuple[str, type[Value]]]:
    for name in names:
        kind = getattr(module, name, None)
        if isinstance(kind, type) and issubclass(kind, Value):
            yield name, kind


def forms_of(kinds: Mapping[str, type[Value]]) -> Forms:
    """The form of each kind: its version and its JSON Schema; values within are shared."""
    _, schema = models_json_schema([(kind, "validation") for kind in kinds.values()])
    return {
        "kinds": {name: kind.stored_version for name, kind in kinds.items()},
        "values": {name: _bare(form) for name, form in sorted(schema["$defs"].items())},
    }


def _bare(schema: Any) -> Any:
    """A schema without what says nothing about the form."""
    if isinstance(schema, list):
        return [_bare(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "properties" in schema:
        fields = {name: _bare(each) for name, each in sorted(schema["properties"].items())}
        return {"properties": fields, "required": sorted(schema.get("required", ()))}
    dropped = {"title", "description", "additionalProperties"}
    kept = {
        key: _in_order(each) if key == "default" else _bare(each)
        for key, each in schema.items()
        if key not in dropped
    }
    more = schema.get("additionalProperties")
    return kept | ({"additionalProperties": _bare(more)} if isinstance(more, dict) else {})


def _in_order(default: Any) -> Any:
    """A default that does not depend on the order of sets."""
    if isinstance(default, dict):
        return {key: _in_order(each) for key, each in default.items()}
    if isinstance(default, list):
        return sorted(map(_in_order, default), key=json.dumps)
    return default


def values_within(forms: Forms, kind: str) -> set[str]:
    """The names of a kind and of all values within it."""
    found, waiting = set[str](), [kind]
    while waiting:
        name = waiting.pop()
        if name in found or name not in forms["values"]:
            continue
        found.add(name)
        text = json.dumps(forms["values"][name])
        waiting += [other for other in forms["values"] if f'"#/$defs/{other}"' in text]
    return found


def changes_between(before: Forms, after: Forms) -> dict[str, list[str]]:
    """What changed in each kind that both know, in words."""
    changed = {
        name: list(_value_changes(name, before["values"].get(name, {}), form))
        for name, form in after["values"].items()
        if form != before["values"].get(name)
    }
    found = {}
    for kind in before["kinds"].keys() & after["kinds"].keys():
        within = values_within(before, kind) | values_within(after, kind)
        words = [each for name in sorted(within & changed.keys()) for each in changed[name]]
        if words:
            found[kind] = words
    return found


def _value_changes(name: str, before: Any, after: Any) -> Iterator[str]:
    if not before:
        yield f"{name} is new"
        return
    old, new = before.get("properties"), after.get("properties")
    if old is None or new is None:
        yield f"{name} is {json.dumps(after)}, was {json.dumps(before)}"
        return
    yield from (f"{name}.{field} is new" for field in new.keys() - old.keys())
    yield from (f"{name}.{field} is gone" for field in old.keys() - new.keys())
    yield from (
        f"{name}.{field} is {json.dumps(new[field])}, was {json.dumps(old[field])}"
        for field in sorted(new.keys() & old.keys())
        if new[field] != old[field]
    )
    if before.get("required") != after.get("required"):
        yield f"{name} requires {after.get('required')}, required {before.get('required')}"


def hindrances_between(before: Forms, after: Forms) -> list[str]:
    """What the release before could not read of this one, or this one not of it.

    A new field needs a default; one that the release before requires must stay; the same field
    keeps its type. New members of an enumeration count only once the release before knows them.
    """
    found = []
    for name in sorted(before["values"].keys() & after["values"].keys()):
        old, new = before["values"][name], after["values"][name]
        if "properties" not in old or "properties" not in new:
            found += _enum_hindrances(name, old, new)
            continue
        added = set(new["required"]) - set(old["required"])
        found += [f"{name}.{field} is required now" for field in sorted(added)]
        gone = set(old["required"]) - set(new["required"])
        found += [f"{name}.{field} is required by the release before" for field in sorted(gone)]
        gone_fields = old["properties"].keys() - new["properties"].keys()
        found += [f"{name}.{field} is still written by the release before" for field in gone_fields]
        for field in sorted(old["properties"].keys() & new["properties"].keys()):
            was, now = (_without_default(each["properties"][field]) for each in (old, new))
            if was != now and not _is_wider(was, now):
                found.append(f"{name}.{field} has another type")
            given = [each["properties"][field].get("default") for each in (old, new)]
            if not _is_same_default(*given):
                found.append(f"{name}.{field} has another default")
    return found


def _is_same_default(was: Any, now: Any) -> bool:
    """Values within may have got fields, whose own defaults are looked at where they are."""
    if isinstance(was, dict) and isinstance(now, dict):
        return all(_is_same_default(each, now.get(name)) for name, each in was.items())
    return bool(was == now)


def _enum_hindrances(name: str, old: Any, new: Any) -> list[str]:
    gone = [each for each in old.get("enum", ()) if each not in new.get("enum", ())]
    return [f"{name} has no member {each!r} any more" for each in gone]


def _without_default(field: Any) -> Any:
    return {key: each for key, each in field.items() if key != "default"}


def _is_wider(was: Any, now: Any) -> bool:
    """A union that has more members reads what it read before."""
    return all(each in now.get("anyOf", ()) for each in was.get("anyOf", (was,)))
