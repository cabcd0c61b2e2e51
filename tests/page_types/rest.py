"""The types of the REST API in TypeScript, made of infra/openapi.json for `tests.page_types`."""

import json
import re
from collections.abc import Iterable
from typing import Any

Document = dict[str, Any]

_METHODS = ("get", "put", "post", "patch", "delete")
_SIMPLE = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
}
_REFERENCE = re.compile(r'"#/components/schemas/([^"]+)"')
_PARAMETER = re.compile(r"\{[^}]+\}")


def declarations(document: Document) -> str:
    """A namespace `Rest` with each schema, and what each route takes and answers.

    A parameter of a path is written `*`: `/agents/*/goals`.
    """
    schemas = document["components"]["schemas"]
    taken = _taken(document)
    rows = [
        f"  type {name_of(name)} = {type_of(each, is_taken=name in taken)};"
        for name, each in schemas.items()
    ]
    for method in _METHODS:
        rows.append(f"  interface {method.upper()} {{")
        rows += [
            f"    {json.dumps(route_of(path))}: {_call(each[method])};"
            for path, each in document["paths"].items()
            if method in each
        ]
        rows.append("  }")
    return "declare namespace Rest {\n" + "\n".join(rows) + "\n}\n"


def route_of(path: str) -> str:
    """The path as the page's modules call it, with a star for each parameter."""
    return _PARAMETER.sub("*", path.removeprefix("/api"))


def name_of(schema: str) -> str:
    """The name of a schema's type."""
    return re.sub(r"\W", "_", schema)


def _taken(document: Document) -> set[str]:
    """The schemas of what is sent: there a field with a default may be missing."""
    schemas = document["components"]["schemas"]
    waiting = [
        each[method].get("requestBody", {})
        for each in document["paths"].values()
        for method in _METHODS
        if method in each
    ]
    found = set[str]()
    while waiting:
        for name in _REFERENCE.findall(json.dumps(waiting.pop())):
            if name not in found and name in schemas:
                found.add(name)
                waiting.append(schemas[name])
    return found


def type_of(schema: Any, *, is_taken: bool = False) -> str:
    """The type of the values that a schema describes."""
    if not isinstance(schema, dict):
        return "any"
    if "$ref" in schema:
        return name_of(schema["$ref"].rpartition("/")[2])
    kinds = schema.get("anyOf") or schema.get("oneOf")
    if kinds:
        return _either(map(type_of, kinds))
    values = schema.get("enum") or ([schema["const"]] if "const" in schema else [])
    return _either(map(json.dumps, values)) if values else _plain(schema, is_taken=is_taken)


def _either(types: Iterable[str]) -> str:
    return "(" + " | ".join(dict.fromkeys(types)) + ")"


def _plain(schema: Document, *, is_taken: bool) -> str:
    kind = schema.get("type", "")
    if kind == "array":
        return f"{type_of(schema.get('items'))}[]"
    return _object(schema, is_taken=is_taken) if kind == "object" else _SIMPLE.get(kind, "any")


def _object(schema: Document, *, is_taken: bool) -> str:
    if "properties" not in schema:
        values = [*schema.get("patternProperties", {}).values(), schema.get("additionalProperties")]
        return f"Record<string, {type_of(values[0])}>"
    required = schema.get("required", ()) if is_taken else schema["properties"]
    fields = [
        f"{json.dumps(name)}{'' if name in required else '?'}: {type_of(each)}"
        for name, each in schema["properties"].items()
    ]
    return "{ " + "; ".join(fields) + " }"


def _call(operation: Document) -> str:
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    answers = [each for code, each in operation["responses"].items() if code.startswith("2")]
    content = answers[0].get("content") if answers else None
    answer = "null"
    if content:
        answer = type_of(content.get("application/json", {}).get("schema"))
    return f"{{ body: {type_of(body.get('schema'))}; answer: {answer} }}"
