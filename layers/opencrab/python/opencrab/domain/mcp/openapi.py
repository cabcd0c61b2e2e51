"""HTTP APIs that describe themselves by OpenAPI 3: operations as tools, and calls as requests.

Operations with JSON bodies or none are read (https://spec.openapis.org/oas/v3.1.1.html); others,
those that need a header which the settings do not give, and those whose path has a step `..`, are
left out.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlencode

from opencrab.domain.errors import Invalid
from opencrab.domain.mcp.schema import mcp_argument_schema

_METHODS = ("get", "put", "post", "patch", "delete", "head")
_READS = frozenset({"get", "head"})
_REPEATABLE = _READS | {"put", "delete"}
"""Methods that do the same if done twice (RFC 9110); PATCH is none of them."""

_PLACES = frozenset({"path", "query"})
_SCHEMAS = "#/components/schemas/"
_JSON = re.compile(r"application/([\w.+-]+\+)?json", re.IGNORECASE | re.ASCII)
_IN_PATH = re.compile(r"\{([^{}]+)\}")
_SLASHES = re.compile(r"[/\\]")
_CLIMBS = frozenset({".", ".."})
_DEEPEST = 20
_MOST_SCHEMAS = 1_000
"""Named schemas that one tool refers to; what has more has too many parts for a tool."""


class HttpOperation(NamedTuple):
    """One operation: how it is listed as a tool, and where its arguments go.

    `places` has "path" or "query" for each argument but the `body`, "" if it takes none, which is
    sent as its `media_type`.
    """

    method: str
    path: str
    places: Mapping[str, str]
    body: str
    media_type: str
    listed: Mapping[str, Any]

    @property
    def is_safe(self) -> bool:
        """True if its requests only read."""
        return self.method.lower() in _READS

    @property
    def name(self) -> str:
        """The tool's name: the operation's id, or its method and path."""
        return str(self.listed["name"])

    def target(self, arguments: Mapping[str, Any]) -> str:
        """Return the path and query of a call; raises Invalid for a step of a path that is none."""
        path, query = self.path, list[tuple[str, str]]()
        for name, place in self.places.items():
            if place == "path":
                value = _text(arguments.get(name, ""))
                # Servers behind a proxy often read %2F as the slash that it stands for.
                if not value or _CLIMBS & {*_SLASHES.split(value)}:
                    raise Invalid(
                        f"{name} cannot be {value!r} in the address", cure="give another value"
                    )
                path = path.replace(f"{{{name}}}", quote(value, safe=""))
            elif name in arguments:
                value = arguments[name]
                each = value if isinstance(value, list) else [value]
                query += [(name, _text(one)) for one in each]
        return f"{path}?{urlencode(query)}" if query else path

    def content(self, arguments: Mapping[str, Any]) -> bytes:
        """Return the body of a call, as JSON; empty without one."""
        if not self.body or self.body not in arguments:
            return b""
        return json.dumps(arguments[self.body], ensure_ascii=False).encode()


def read_http_operations(
    document: Any,
    headers: Collection[str] = (),
    *,
    wanted: Collection[str] = (),
    most: int = 1_000,
) -> tuple[HttpOperation, ...]:
    """Return the operations of a description, in its order; `headers` are those sent with each.

    They are those with the `wanted` names if any are named, and at most `most`: others are not
    read, as each may refer to all of a long description. Raises Invalid for what is no description
    by OpenAPI 3.
    """
    if not isinstance(document, Mapping) or not str(document.get("openapi", "")).startswith("3."):
        raise Invalid("it is no description by OpenAPI 3 in JSON")
    paths = document.get("paths")
    given = frozenset(name.lower() for name in headers)
    found = dict[str, HttpOperation]()
    for path, method, merged in _operations_of(paths):
        name = _tool_name(merged.get("operationId"), method, path)
        if name in found or (wanted and name not in wanted):
            continue
        read = _operation(document, path, method, merged, given)
        if read is not None:
            found[name] = read
        if len(found) >= most:
            break
    return tuple(found.values())


def http_api_address(document: Mapping[str, Any]) -> str:
    """Return the address of its first server, which may be relative to the description's."""
    servers = document.get("servers")
    first = servers[0] if isinstance(servers, list) and servers else {}
    url = first.get("url") if isinstance(first, Mapping) else None
    return url if isinstance(url, str) else "/"


def _operations_of(paths: Any) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield path, method and description of each operation, with its path's parameters."""
    for path, item in paths.items() if isinstance(paths, Mapping) else ():
        if not isinstance(item, Mapping) or not str(path).startswith("/"):
            continue
        for method in _METHODS:
            operation = item.get(method)
            if isinstance(operation, Mapping):
                both = [*_as_list(item.get("parameters")), *_as_list(operation.get("parameters"))]
                yield str(path), method, {**operation, "parameters": both}


def _operation(
    document: Mapping[str, Any],
    path: str,
    method: str,
    merged: Mapping[str, Any],
    given: Collection[str],
) -> HttpOperation | None:
    """Return an operation; None for one whose requests cannot be made."""
    arguments = _Arguments()
    for each in merged["parameters"]:
        arguments.add(_resolve(document, each), given)
    content = _resolve(document, merged.get("requestBody"))
    if content:
        arguments.add_body(content)
    in_path = {name for name, place in arguments.places.items() if place == "path"}
    climbs = _CLIMBS & {*_SLASHES.split(unquote(path))}
    if not arguments.usable or climbs or set(_IN_PATH.findall(path)) - in_path:
        return None
    sent_as = arguments.media_type
    said = [merged.get("summary"), merged.get("description")]
    words = "\n".join(each for each in said if isinstance(each, str) and each)
    # Whoever trusts a tool sees what it does, whatever it is called.
    does = f"{method.upper()} {path}"
    listed = {
        "name": _tool_name(merged.get("operationId"), method, path),
        "description": f"{does}: {words}" if words else does,
        "inputSchema": _input_schema(document, arguments),
        "annotations": {"readOnlyHint": method in _READS, "idempotentHint": method in _REPEATABLE},
        "request": [method.upper(), path, dict(arguments.places), arguments.body, sent_as],
    }
    return HttpOperation(method.upper(), path, arguments.places, arguments.body, sent_as, listed)


def _input_schema(document: Mapping[str, Any], arguments: "_Arguments") -> dict[str, Any]:
    """Return the schema of a tool's arguments; of a body that is too large only its first level."""
    found = _schema_with_references(document, arguments)
    if arguments.body:
        try:
            mcp_argument_schema(found)
        except Invalid:
            body = arguments.properties[arguments.body]
            arguments.properties[arguments.body] = _first_level(document, body)
            found = _schema_with_references(document, arguments)
    return found


def _schema_with_references(document: Mapping[str, Any], arguments: "_Arguments") -> dict[str, Any]:
    shape: dict[str, Any] = {
        "type": "object",
        "properties": arguments.properties,
        "required": sorted(arguments.required),
    }
    used = _used_schemas(document, arguments.properties)
    return {**shape, "components": {"schemas": used}} if used else shape


def _first_level(document: Mapping[str, Any], schema: Any) -> dict[str, Any]:
    """Return an object's own properties by type and description, without what is in them."""
    whole = _resolve(document, schema)
    properties = whole.get("properties")
    if not isinstance(properties, Mapping):
        return {"description": "JSON, as the API's documentation describes it"}
    found = dict[str, Any]()
    for name, inner in properties.items():
        about = _resolve(document, inner)
        found[str(name)] = {key: about[key] for key in ("type", "description") if key in about}
    required = [each for each in _as_list(whole.get("required")) if each in found]
    return {"type": "object", "properties": found, "required": required}


class _Arguments:
    """The arguments of an operation: their schemas, and where each goes."""

    def __init__(self) -> None:
        self.usable = True
        self.places: dict[str, str] = {}
        self.properties: dict[str, Any] = {}
        self.required: set[str] = set()
        self.body = ""
        self.media_type = ""

    def add(self, parameter: Mapping[str, Any], given: Collection[str]) -> None:
        place, name = str(parameter.get("in")), str(parameter.get("name"))
        needed = parameter.get("required") is True
        if place not in _PLACES:
            self.usable &= not needed or (place == "header" and name.lower() in given)
            return
        if self.places.get(name, place) != place:
            # One name in the path and in the query: a call could not say which it means.
            self.usable = False
        schema, said = parameter.get("schema"), parameter.get("description")
        told = dict(schema) if isinstance(schema, Mapping) else {"type": "string"}
        if isinstance(said, str):
            told.setdefault("description", said)
        self.places[name], self.properties[name] = place, told
        if needed or place == "path":
            self.required.add(name)

    def add_body(self, content: Mapping[str, Any]) -> None:
        kinds = content.get("content")
        kinds = kinds if isinstance(kinds, Mapping) else {}
        given = {str(kind).partition(";")[0].strip(): each for kind, each in kinds.items()}
        self.media_type = next((kind for kind in given if _JSON.fullmatch(kind)), "")
        taken = given.get(self.media_type)
        if not isinstance(taken, Mapping):
            self.usable = False
            return
        self.body = "body" if "body" not in self.properties else "request_body"
        schema = taken.get("schema")
        self.properties[self.body] = schema if isinstance(schema, Mapping) else {"type": "object"}
        if content.get("required") is True:
            self.required.add(self.body)


def _tool_name(given: Any, method: str, path: str) -> str:
    name = given if isinstance(given, str) and given else f"{method}{path}"
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip("_")[:128] or method


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _resolve(document: Mapping[str, Any], value: Any) -> Mapping[str, Any]:
    """Return what a reference within the description leads to; {} for anything else."""
    for _ in range(_DEEPEST):
        if not isinstance(value, Mapping):
            return {}
        reference = value.get("$ref")
        if not isinstance(reference, str):
            return value
        value = _at(document, reference)
    return {}


def _at(document: Mapping[str, Any], reference: str) -> Any:
    found: Any = document
    if not reference.startswith("#/"):
        return None
    for step in reference.removeprefix("#/").split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def _used_schemas(document: Mapping[str, Any], value: Any) -> dict[str, Any]:
    """Return the named schemas that a value refers to, directly or through others."""
    found, left = dict[str, Any](), [value]
    while left and len(found) <= _MOST_SCHEMAS:
        for name in _references_in(left.pop(0)):
            if name not in found:
                found[name] = _at(document, f"{_SCHEMAS}{name}")
                left.append(found[name])
    return found


def _references_in(value: Any) -> Iterator[str]:
    left = [value]
    while left:
        each = left.pop()
        if isinstance(each, Mapping):
            reference = each.get("$ref")
            if isinstance(reference, str) and reference.startswith(_SCHEMAS):
                yield reference.removeprefix(_SCHEMAS)
            left += each.values()
        elif isinstance(each, list):
            left += each


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
