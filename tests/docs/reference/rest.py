"""The page of all routes of the REST API, from the OpenAPI document."""

import json
from functools import cache
from itertools import groupby
from typing import Any

from opencrab.domain.value import Language
from tests.conftest import ROOT
from tests.docs.reference.text import sentence, table

_TITLE = {Language.EN: "REST API", Language.JA: "REST API"}
_HEAD = {
    Language.EN: ("route", "what it does", "parameters", "body", "answer"),
    Language.JA: ("ルート", "説明", "パラメーター", "本文", "応答"),
}
_OPEN = {Language.EN: " (no key needed)", Language.JA: "(キー不要)"}
METHODS = ("get", "post", "put", "patch", "delete")


@cache
def routes() -> dict[str, dict[str, Any]]:
    """Every operation by `METHOD /path`."""
    document = json.loads((ROOT / "infra" / "openapi.json").read_text(encoding="utf-8"))
    return {
        f"{method.upper()} {path}": operation
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
        if method in METHODS
    }


def page(language: Language) -> str:
    """The page in one language."""
    lines = [f"# {_TITLE[language]}", "", sentence("pages", "rest", language)]
    listed = sorted(routes().items(), key=lambda each: _tag(each[1]))
    for tag, operations in groupby(listed, key=lambda each: _tag(each[1])):
        rows = [_row(route, operation, language) for route, operation in operations]
        lines += ["", f"## {tag}", "", *table(_HEAD[language], rows)]
    return "\n".join(lines) + "\n"


def _tag(operation: dict[str, Any]) -> str:
    return str(operation.get("tags", ["installation"])[0])


def _row(route: str, operation: dict[str, Any], language: Language) -> tuple[str, ...]:
    about = operation["summary"]
    if language is Language.JA:
        about = sentence("rest", operation["operationId"], language)
    if not operation.get("security"):
        about += _OPEN[language]
    given = ", ".join(
        f"`{each['name']}`" for each in operation.get("parameters", ()) if each["in"] != "path"
    )
    answers = (
        f"{status} {_schemas(answer)}".strip()
        for status, answer in operation["responses"].items()
        if status != "default"
    )
    return (
        f"`{route}`",
        about,
        given,
        _schemas(operation.get("requestBody", {})),
        ", ".join(answers),
    )


def _schemas(body: dict[str, Any]) -> str:
    """What a body may be: names of schemas, or media types where it has none."""
    named = []
    for media, content in body.get("content", {}).items():
        schema = content.get("schema", {})
        name = str(schema.get("$ref", "")).rpartition("/")[2]
        named.append(f"`{name}`" if name else media)
    return ", ".join(named)
