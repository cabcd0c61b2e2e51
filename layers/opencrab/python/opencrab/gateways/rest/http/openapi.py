"""The OpenAPI document, derived from the routes; infra/openapi.json is its copy."""

import json
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from opencrab import __version__
from opencrab.gateways.rest.http.problem import MEDIA_TYPE, Problem

OPEN_PATHS = {"/api/health", "/approve"}
"""What takes no key: a sign of life, and the page whose address itself is the proof."""

_DESCRIPTION = """Agents, the sessions in which one talks to them, and the turns in which they act.

Every route but `/api/health` takes an API key: `Authorization: Bearer <key>`. A `POST` with an
`Idempotency-Key` may be repeated and is done once. Errors are problem documents (RFC 9457) that
name the field and the cure."""
_TAGS = {
    "agents": "Who there is.",
    "skills": "What an agent knows how to do.",
    "workspace": "An agent's files.",
    "memory": "What an agent can find again, what it keeps, and what it shall forget.",
    "sessions": "Conversations.",
    "messages": "What is said in them.",
    "turns": "How one answer came about.",
    "tasks": "What an agent is there for, what it was told to do, and how far that has come.",
    "approvals": "What an agent may do, and what it must ask for.",
    "models": "What agents think with, and who provides it.",
    "costs": "What that costs, and what it may cost.",
    "keys": "Who may call.",
    "discord": "The bot: how it is set up, who listens where, and what was said to it.",
    "state": "The installation itself.",
    "analytics": "What came of all that in numbers, what is tried out, and what was changed.",
}
_RESPONSE = "Problem"


def openapi_document(app: FastAPI) -> dict[str, Any]:
    """The document of an application's routes."""
    made = get_openapi(
        title="OpenCrab",
        version=__version__,
        description=_DESCRIPTION,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        tags=[{"name": name, "description": text} for name, text in _TAGS.items()],
        routes=app.routes,
    )
    components = made["components"]
    for name in ("HTTPValidationError", "ValidationError"):
        components["schemas"].pop(name, None)
    defined = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    components["schemas"].update(defined.pop("$defs", {}))
    components["schemas"]["Problem"] = defined
    reference = {"$ref": "#/components/schemas/Problem"}
    components["responses"] = {
        _RESPONSE: {
            "description": "It was not done; the document says why, and what to do about it.",
            "content": {MEDIA_TYPE: {"schema": reference}},
        }
    }
    for path, operations in made["paths"].items():
        for operation in operations.values():
            _with_problems(operation, needs_key=path not in OPEN_PATHS)
    return made


def openapi_text(app: FastAPI) -> str:
    """The document as the file keeps it."""
    return json.dumps(openapi_document(app), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _with_problems(operation: dict[str, Any], *, needs_key: bool) -> None:
    responses = operation["responses"]
    responses.pop("422", None)
    if needs_key:
        responses["default"] = {"$ref": f"#/components/responses/{_RESPONSE}"}
