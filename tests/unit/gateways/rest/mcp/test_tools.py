"""The catalog of tools: each is a route that exists, takes what it says, and is said in words."""

import json
from pathlib import Path
from typing import Any

import pytest

from opencrab.domain.access.authority import Scope
from opencrab.domain.value import Language
from opencrab.gateways.rest.mcp import tools as catalog
from tests.integration.rest.house import documented

FILE = Path(catalog.__file__).with_suffix(".json")
TOOLS: dict[str, dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
OF_ROUTES = {name: tool for name, tool in TOOLS.items() if "route" in tool}


def test_tools_without_a_route_have_code() -> None:
    assert set(TOOLS) - set(OF_ROUTES) == set(catalog._OWN)


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_is_said_in_both_languages_and_its_hints_agree(name: str) -> None:
    tool = TOOLS[name]
    Scope(tool["scope"])
    for part in ("title", "description"):
        assert set(tool[part]) == set(Language)
        assert all(tool[part].values())
    hints = tool["annotations"]
    assert {"readOnlyHint", "openWorldHint"} <= set(hints)
    changes = {"destructiveHint", "idempotentHint"} & set(hints)
    assert len(changes) == (0 if hints["readOnlyHint"] else 2)
    assert set(tool["inputSchema"]["required"]) <= set(tool["inputSchema"]["properties"])


@pytest.mark.parametrize("name", OF_ROUTES)
def test_a_tool_sends_its_route_what_that_takes(name: str) -> None:
    tool = OF_ROUTES[name]
    method, path = tool["route"].split(" ")
    operation = documented()["paths"][path][method.lower()]
    sent = set(tool["inputSchema"]["properties"]) - {"agent"}
    sent |= {"agent_id"} if "agent" in tool["inputSchema"]["properties"] else set()
    takes = {each["name"] for each in operation["parameters"]}
    if method == "POST":
        takes |= set(_properties(operation["requestBody"]["content"]["application/json"]["schema"]))
    assert sent <= takes
    if "keep" in tool:
        page = _properties(operation["responses"]["200"]["content"]["application/json"]["schema"])
        assert set(tool["keep"]) <= set(_properties(page["items"]["items"]))


def _properties(schema: dict[str, Any]) -> dict[str, Any]:
    """The properties of an object, wherever its schema is."""
    for each in (schema, *schema.get("anyOf", ())):
        if "$ref" in each:
            named = each["$ref"].rpartition("/")[2]
            return _properties(documented()["components"]["schemas"][named])
        if "properties" in each:
            found: dict[str, Any] = each["properties"]
            return found
    raise LookupError(schema)
