"""The OpenAPI document, derived from the routes; infra/openapi.json is its copy."""

import json
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from opencrab import __version__
from opencrab.gateways.rest.http.problem import MEDIA_TYPE, Problem

OPEN_PATHS = {"/api/health", "/approve"}
"""Paths that take no key: the health check, and the page that a signed link opens."""

_DESCRIPTION = """Agents, their sessions with people and with each other, and their turns.

Every route but `/api/health` takes an API key: `Authorization: Bearer <key>`. A `POST` with an
`Idempotency-Key` may be repeated: a repeat returns the first response. Errors are problem documents
(RFC 9457) that name the field and the remedy."""
_TAGS = {
    "agents": "Agents: settings, soul, identity, status, heartbeat, events and current state.",
    "skills": "Standard and acquired skills of an agent.",
    "workspace": "Files of an agent's workspace.",
    "memory": "Search, memories, experiences, summaries, knowledge and erasure.",
    "sessions": "Conversations between people and agents.",
    "messages": "Messages, lines and live events of a session.",
    "turns": "Turns with their steps, approvals and feedback.",
    "tasks": "Purpose, instructions, goals, plans and schedules.",
    "approvals": "Approvals of tool calls, and grants in advance.",
    "models": "Models, providers, aliases, prices and model choices of agents.",
    "world": "The world to which an agent is bound.",
    "costs": "Costs and budgets.",
    "keys": "API keys.",
    "discord": "Setup of the Discord bot, Discord settings of agents, and messages from the relay.",
    "state": "Health, setup and state of the installation.",
    "analytics": "Analytics, experiments, reviews and changes on evidence.",
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
            "description": "Error (RFC 9457 problem document).",
            "content": {MEDIA_TYPE: {"schema": reference}},
        }
    }
    for path, operations in made["paths"].items():
        for operation in operations.values():
            _with_problems(operation, needs_key=path not in OPEN_PATHS)
            _with_summary(operation)
    return made


def openapi_text(app: FastAPI) -> str:
    """The document as the file keeps it."""
    return json.dumps(openapi_document(app), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _with_problems(operation: dict[str, Any], *, needs_key: bool) -> None:
    responses = operation["responses"]
    responses.pop("422", None)
    if needs_key:
        responses["default"] = {"$ref": f"#/components/responses/{_RESPONSE}"}


def _with_summary(operation: dict[str, Any]) -> None:
    """The first line of a route's docstring is its summary, the rest its description."""
    operation["summary"], _, rest = operation.pop("description").partition("\n\n")
    if rest:
        operation["description"] = rest
