"""The OpenAPI document, derived from the routes; infra/openapi.json is its copy."""

import json
import re
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from opencrab import __version__
from opencrab.gateways.rest.http.access import HEALTH
from opencrab.gateways.rest.http.page import Page
from opencrab.gateways.rest.http.problem import MEDIA_TYPE, Problem

_DESCRIPTION = """Agents, their sessions with people and with each other, and their turns.

Every route but `/api/health` and `/api/sign-in` takes an API key: `Authorization: Bearer <key>`.
A `POST` with an `Idempotency-Key` may be repeated: a repeat returns the first response. Errors are
problem documents (RFC 9457) that name the field and the remedy."""
_TAGS = {
    "agents": "Agents: settings, soul, identity, status, heartbeat, events and current state.",
    "skills": "Standard and acquired skills of an agent.",
    "workspace": "Files of an agent's workspace.",
    "memory": "Search, memories, experiences, summaries, knowledge and erasure.",
    "sessions": "Conversations between people and agents.",
    "messages": "Messages, lines and live events of a session.",
    "openai": "Agents as models, for clients of OpenAI's API.",
    "turns": "Turns with their steps, approvals and feedback.",
    "tasks": "Purpose, instructions, goals, plans and schedules.",
    "approvals": "Approvals of tool calls, and grants in advance.",
    "models": "Models, providers, aliases, prices and model choices of agents.",
    "mcp": "MCP servers, their tools, and which of them agents may use.",
    "world": "The world to which an agent is bound.",
    "costs": "Costs and budgets.",
    "keys": "API keys.",
    "chats": "Setup of chat services: LINE, Slack, Telegram and e-mail.",
    "discord": "Setup of the Discord bot, Discord settings of agents, and messages from the relay.",
    "state": "Health, setup and state of the installation.",
    "analytics": "Analytics, experiments, reviews and changes on evidence.",
}
_RESPONSE, _RESPONSE_OF_CLIENTS = "Problem", "OpenAiError"
_OF_CLIENTS = "/v1/"
"""How paths for clients of OpenAI's API begin, whose errors have its form."""

_ERROR_OF_CLIENTS = {
    "description": "An error as OpenAI's API has it: what went wrong, and what to do.",
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "type", "param", "code"],
            "properties": {
                "message": {"type": "string"},
                "type": {"type": "string"},
                "param": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "code": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            },
        }
    },
}
_UNDESCRIBED = "Successful Response"
"""FastAPI's description of a response that a route does not describe itself."""

_RESULTS = {
    "201": "Created: {}",
    "202": "Accepted: {}",
    "204": "Done; the response has no body.",
}
_CLAUSE = re.compile(r"[;.](?:\s|$)")
"""The end of the first clause of a schema's description, which names the thing."""


def openapi_document_of_http_routes(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document of an application's routes."""
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
    components["schemas"][_RESPONSE_OF_CLIENTS] = _ERROR_OF_CLIENTS
    for name, schema in components["schemas"].items():
        if name.startswith("Page_"):
            # A generic model has no docstring of its own.
            schema["description"] = Page.__doc__
    components["responses"] = {
        name: {
            "description": description,
            "content": {kind: {"schema": {"$ref": f"#/components/schemas/{name}"}}},
        }
        for name, description, kind in (
            (_RESPONSE, "Error (RFC 9457 problem document).", MEDIA_TYPE),
            (_RESPONSE_OF_CLIENTS, "Error in the form of OpenAI's API.", "application/json"),
        )
    }
    for path, operations in made["paths"].items():
        response = _RESPONSE_OF_CLIENTS if path.startswith(_OF_CLIENTS) else _RESPONSE
        for operation in operations.values():
            _with_problems(operation, None if path == HEALTH else response)
            _with_summary(operation)
            _with_results(operation, components["schemas"])
    return made


def http_openapi_text(app: FastAPI) -> str:
    """Return the document as the text of infra/openapi.json."""
    return (
        json.dumps(
            openapi_document_of_http_routes(app), indent=2, sort_keys=True, ensure_ascii=False
        )
        + "\n"
    )


def _with_problems(operation: dict[str, Any], response: str | None) -> None:
    responses = operation["responses"]
    responses.pop("422", None)
    if response is not None:
        responses["default"] = {"$ref": f"#/components/responses/{response}"}


def _with_summary(operation: dict[str, Any]) -> None:
    """Split a route's docstring: its first line is the summary, the rest the description."""
    operation["summary"], _, rest = operation.pop("description").partition("\n\n")
    if rest:
        operation["description"] = rest


def _with_results(operation: dict[str, Any], schemas: dict[str, Any]) -> None:
    """Describe each response that FastAPI only calls successful."""
    for status, response in operation["responses"].items():
        if response.get("description") != _UNDESCRIBED:
            continue
        result = _result(operation["summary"], response, schemas)
        if status in _RESULTS:
            result = _RESULTS[status].format(result[:1].lower() + result[1:])
        response["description"] = result


def _result(summary: str, response: dict[str, Any], schemas: dict[str, Any]) -> str:
    """Return what a response contains: by its schema, or for a page of a list by the summary."""
    content: dict[str, Any] = next(iter(response.get("content", {}).values()), {})
    reference: str = content.get("schema", {}).get("$ref", "")
    name = reference.rpartition("/")[2]
    verb, _, listed = summary.partition(" ")
    if name.startswith("Page_") and verb == "List":
        return f"A page of {listed}"
    described: str = schemas[name].get("description", "") if name else ""
    text = _CLAUSE.split(described or f"{listed[:1].upper()}{listed[1:]}")[0]
    return f"{text.removesuffix('.')}."
