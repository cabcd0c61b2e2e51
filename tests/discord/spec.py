"""Spec: Discord's published OpenAPI description, which judges every body that it describes.

It lies with the recordings of the wire; where those are missing it judges nothing.
"""

import json
import os
from functools import cache, lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from tests.conftest import ROOT
from tests.discord.refusals import invalid

_ORIGIN = "https://discord.com/openapi.json"


def folder() -> Path:
    """Where the recordings of the wire are expected."""
    return Path(os.environ.get("OPENCRAB_WIRE", ROOT.parent / "shared" / "wire"))  # noqa: TID251


@cache
def document() -> dict[str, Any] | None:
    """The whole description, or None."""
    path = folder() / "specs" / "discord" / "openapi.min.json"
    return json.loads(path.read_bytes()) if path.is_file() else None


def judge(template: str, method: str, body: Any, *, media_type: str = "application/json") -> None:
    """Raise a refusal for a body that the operation does not take."""
    pointer = _taken(template, method.lower(), media_type)
    if pointer is None:
        return
    error = _error(pointer, json.dumps(body))
    if error is not None:
        where = ".".join(str(part) for part in error.absolute_path)
        raise invalid(where, f"SPEC_{str(error.validator).upper()}", _rule(error))


def answers_as(template: str, method: str, status: int, body: Any) -> str | None:
    """What is wrong with an answer of ours, or None."""
    described = document()
    if described is None or template not in described["paths"]:
        return None
    operation = described["paths"][template].get(method.lower(), {"responses": {}})
    answer = operation["responses"].get(str(status))
    if answer is None or "content" not in answer:
        return None
    pointer = ("paths", template, method.lower(), "responses", str(status))
    error = _error((*pointer, "content", "application/json", "schema"), json.dumps(body))
    return None if error is None else f"{list(error.absolute_path)}: {error.message[:300]}"


@lru_cache(maxsize=1_000)
def _error(pointer: tuple[str, ...], body: str) -> ValidationError | None:
    """What a schema says of a JSON text, found once: houses register the same commands."""
    return _deepest(list(_at(pointer).iter_errors(json.loads(body))))


def _taken(template: str, method: str, media_type: str) -> tuple[str, ...] | None:
    """Where the description says what an operation takes; None if it says nothing."""
    described = document()
    if described is None or template not in described["paths"]:
        return None
    operation = described["paths"][template].get(method)
    if operation is None or "requestBody" not in operation:
        return None
    return ("paths", template, method, "requestBody", "content", media_type, "schema")


@cache
def _at(pointer: tuple[str, ...]) -> Draft202012Validator:
    described = document()
    assert described is not None
    escaped = (quote(part.replace("~", "~0").replace("/", "~1"), safe="~") for part in pointer)
    schema = {"$ref": f"{_ORIGIN}#/{'/'.join(escaped)}"}
    return Draft202012Validator(
        schema,
        registry=_registry(),
        format_checker=Draft202012Validator.FORMAT_CHECKER,
    )


@cache
def _registry() -> Any:
    described = document()
    assert described is not None
    resource = DRAFT202012.create_resource({"$id": _ORIGIN, **described})
    return Registry().with_resource(_ORIGIN, resource)


def _rule(error: ValidationError) -> str:
    """What is asked for; what was sent may be long."""
    return f"{error.validator} {str(error.validator_value)[:200]}"


def _deepest(errors: list[ValidationError]) -> ValidationError | None:
    """The error that says most: of alternatives, the one that fits best."""
    if not errors:
        return None
    error = max(errors, key=lambda each: len(each.absolute_path))
    while error.context:
        error = max(
            error.context, key=lambda each: (len(each.absolute_path), each.validator != "type")
        )
    return error
