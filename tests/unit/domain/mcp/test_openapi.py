"""Descriptions by OpenAPI 3: vendors' own, and those that are wrong."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from opencrab.domain.errors import Invalid
from opencrab.domain.mcp.openapi import HttpOperation, http_api_address, read_http_operations
from opencrab.domain.mcp.tool import McpTool


def document(**paths: Any) -> dict[str, Any]:
    return {"openapi": "3.0.3", "paths": {f"/{name}": item for name, item in paths.items()}}


def only(described: dict[str, Any], *headers: str) -> HttpOperation:
    (found,) = read_http_operations(described, headers)
    return found


@pytest.mark.parametrize(("vendor", "least"), [("discord", 15), ("openrouter", 5)])
def test_operations_of_a_vendors_description_are_usable_tools(
    wire: Path, vendor: str, least: int
) -> None:
    path = wire / "specs" / vendor / "openapi.min.json"
    described = json.loads(path.read_text(encoding="utf-8"))
    found = read_http_operations(described, {"Authorization"})
    assert len(found) >= least
    tools = [McpTool.of(each.listed) for each in found]
    assert {tool.problem for tool in tools} == {""}
    assert len({tool.name for tool in tools}) == len(tools)
    for operation in found:
        given = dict.fromkeys(operation.places, "蟹")
        assert "{" not in operation.target(given)


def test_of_a_body_too_large_for_a_prompt_the_first_level_is_told() -> None:
    deep = {f"p{n}": {"type": "string", "description": "海" * 200} for n in range(100)}
    schema = {
        "type": "object",
        "required": ["to"],
        "properties": {"to": {"type": "string"}, "deep": {"type": "object", "properties": deep}},
    }
    body = {"content": {"application/json": {"schema": schema}}}
    tool = McpTool.of(only(document(a={"post": {"requestBody": body}})).listed)
    told = {"to": {"type": "string"}, "deep": {"type": "object"}}
    assert tool.problem == ""
    assert tool.parameters["properties"]["body"] == {**schema, "properties": told}


def test_a_parameter_of_the_path_item_counts_for_each_of_its_operations() -> None:
    id_in_path = {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}
    item = {"parameters": [id_in_path], "get": {"operationId": "show"}, "delete": {}}
    show, remove = read_http_operations({"openapi": "3.1.0", "paths": {"/n/{id}": item}})
    assert (show.name, remove.name) == ("show", "delete_n_id")
    assert show.target({"id": 7}) == "/n/7"


def test_references_are_followed_and_those_of_others_left_alone() -> None:
    schemas = {
        "Note": {"type": "object", "properties": {"by": {"$ref": "#/components/schemas/Who"}}},
        "Who": {"type": "object", "properties": {"boss": {"$ref": "#/components/schemas/Who"}}},
        "Unused": {"type": "string"},
    }
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Note"}}}}
    described = document(notes={"post": {"requestBody": body}}) | {
        "components": {"schemas": schemas}
    }
    operation = only(described)
    assert {*operation.listed["inputSchema"]["components"]["schemas"]} == {"Note", "Who"}
    assert McpTool.of(operation.listed).problem == ""
    assert json.loads(operation.content({"body": {"by": {"boss": "蟹"}}})) == {"by": {"boss": "蟹"}}


@pytest.mark.parametrize(
    "operation",
    [
        {"requestBody": {"content": {"multipart/form-data": {}}}},
        {"parameters": [{"name": "X-Key", "in": "header", "required": True}]},
        {"parameters": [{"name": "s", "in": "cookie", "required": True}]},
        {"parameters": [{"name": "a", "in": "query"}, {"name": "a", "in": "path"}]},
    ],
)
def test_what_cannot_be_asked_is_left_out(operation: dict[str, Any]) -> None:
    assert read_http_operations(document(a={"get": operation})) == ()


def test_a_path_with_an_unknown_part_is_left_out() -> None:
    assert read_http_operations({"openapi": "3.1.0", "paths": {"/n/{id}": {"get": {}}}}) == ()


@pytest.mark.parametrize("path", ["../admin", "a/%2e%2E/b", "a/./b", "a\\..\\b"])
def test_a_path_that_leads_upwards_is_left_out(path: str) -> None:
    assert read_http_operations(document(**{path: {"get": {}}, "tides": {"get": {}}})) == (
        only(document(tides={"get": {}})),
    )


def test_a_body_is_sent_as_what_the_api_takes() -> None:
    kinds: dict[str, Any] = {"text/xml": {}, "application/merge-patch+json; charset=utf-8": {}}
    found = only(document(a={"patch": {"requestBody": {"content": kinds}}}))
    assert found.media_type == "application/merge-patch+json"
    hostile: dict[str, Any] = {"application/json\r\nx: y": {}, "application/jsonp": {}}
    assert read_http_operations(document(a={"post": {"requestBody": {"content": hostile}}})) == ()


def test_hints_are_those_of_the_method() -> None:
    item: dict[str, Any] = {
        method: {} for method in ("get", "head", "put", "delete", "post", "patch")
    }
    found = read_http_operations(document(a=item))
    assert {each.method: McpTool.of(each.listed).hints for each in found} == {
        "GET": ("readOnlyHint", "idempotentHint"),
        "HEAD": ("readOnlyHint", "idempotentHint"),
        "PUT": ("idempotentHint",),
        "DELETE": ("idempotentHint",),
        "POST": (),
        "PATCH": (),
    }
    assert [each.is_safe for each in found] == [each.method in {"GET", "HEAD"} for each in found]


def test_what_is_called_is_told_whatever_it_is_named() -> None:
    described = {"operationId": "readTides", "summary": "Read the tides"}
    found = only(document(all={"delete": described}))
    assert McpTool.of(found.listed).description == "DELETE /all: Read the tides"


def test_only_as_much_of_a_long_description_is_read_as_is_used() -> None:
    # Each operation refers to all schemas: read whole, this takes minutes.
    next_one = "#/components/schemas/S{}"
    schemas = {f"S{n}": {"items": {"$ref": next_one.format(n + 1)}} for n in range(20_000)}
    asked = {"parameters": [{"name": "q", "in": "query", "schema": {"$ref": next_one.format(0)}}]}
    described = {
        "openapi": "3.1.0",
        "components": {"schemas": schemas},
        "paths": {f"/{n}": {"get": asked} for n in range(4_000)},
    }
    begun = time.process_time()
    found = read_http_operations(described, most=128)
    assert [each.path for each in found] == [f"/{n}" for n in range(128)]
    assert len(read_http_operations(described, wanted={"get_3999"})) == 1
    assert time.process_time() - begun < 5


def test_an_argument_named_body_and_a_body_are_two() -> None:
    operation = {
        "parameters": [{"name": "body", "in": "query"}],
        "requestBody": {"content": {"application/vnd.api+json": {}}},
    }
    found = only(document(a={"post": operation}))
    assert found.target({"body": "x"}) == "/a?body=x"
    assert found.content({"request_body": [1]}) == b"[1]"
    assert found.content({}) == b""


@pytest.mark.parametrize("step", ["..", ".", "", "../admin", "a/../../b", "a\\..", "a/."])
def test_a_step_that_is_none_is_refused(step: str) -> None:
    item = {"get": {"parameters": [{"name": "id", "in": "path", "required": True}]}}
    found = only({"openapi": "3.1.0", "paths": {"/n/{id}/x": item}})
    with pytest.raises(Invalid, match="id cannot be"):
        found.target({"id": step})
    assert found.target({"id": "..a b/海.."}) == "/n/..a%20b%2F%E6%B5%B7../x"


@pytest.mark.parametrize(
    "described",
    [
        None,
        [],
        {"openapi": 3},
        {"openapi": "2.0"},
        {"swagger": "2.0", "paths": {}},
    ],
)
def test_other_documents_are_refused(described: Any) -> None:
    with pytest.raises(Invalid, match="no description by OpenAPI 3"):
        read_http_operations(described)


@pytest.mark.parametrize(
    "paths",
    [
        None,
        [],
        {"/a": None},
        {"a": {"get": {}}},
        {"/a": {"get": []}},
        {"/a": {"get": {"requestBody": {"$ref": "#/nowhere"}, "parameters": {"x": 1}}}},
        {"/a": {"get": {"parameters": [1, {"$ref": "#/paths/~1a/get/parameters/1"}]}}},
    ],
)
def test_hostile_descriptions_end_and_raise_nothing_else(paths: Any) -> None:
    read_http_operations({"openapi": "3.1.0", "paths": paths})


def test_the_address_is_that_of_the_first_server() -> None:
    assert http_api_address({"servers": [{"url": "/v1"}, {"url": "/v2"}]}) == "/v1"
    assert http_api_address({"servers": []}) == "/"
    assert http_api_address({"servers": "x"}) == "/"
