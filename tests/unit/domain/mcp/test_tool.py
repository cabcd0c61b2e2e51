"""Tools as servers list them: names, hidden characters, and what a hash of them covers."""

from typing import Any

import pytest

from opencrab.domain.mcp.schema import find_mcp_argument_problem, mcp_argument_schema
from opencrab.domain.mcp.tool import McpTool, mcp_action_name


@pytest.mark.parametrize(
    ("tool", "action"),
    [
        ("read_file", "mcp__files__read_file"),
        ("readTextFile", "mcp__files__read_text_file"),
        ("get-sum", "mcp__files__get_sum"),
        ("a.b", "mcp__files__a_b"),
        ("send_speech", "mcp__files__send_speech"),
    ],
)
def test_an_action_is_named_by_server_and_tool(tool: str, action: str) -> None:
    assert mcp_action_name("files", tool) == action


def test_long_names_stay_apart() -> None:
    first, second = (mcp_action_name("files", "x" * 100 + end) for end in "ab")
    assert len(first) == len(second) == 64
    assert first != second


def test_hidden_characters_are_not_shown_and_change_the_hash() -> None:
    plain = McpTool.of({"name": "add", "description": "足す"})
    hidden = McpTool.of({"name": "add", "description": "足す\U000e0041\u202e"})
    assert plain.description == hidden.description == "足す"
    assert plain.fingerprint != hidden.fingerprint


@pytest.mark.parametrize(
    "changes",
    [
        {"description": "x"},
        {"title": "x"},
        {"inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}}},
        {"annotations": {"readOnlyHint": True}},
        {"outputSchema": {"type": "object"}},
        {"_meta": {"x": 1}},
    ],
)
def test_whatever_a_server_says_of_a_tool_is_in_its_hash(changes: dict[str, Any]) -> None:
    assert McpTool.of({"name": "a"}).fingerprint != McpTool.of({"name": "a"} | changes).fingerprint


def test_the_order_of_what_it_says_is_not() -> None:
    one, other = {"name": "a", "description": "b"}, {"description": "b", "name": "a"}
    assert McpTool.of(one).fingerprint == McpTool.of(other).fingerprint


def test_references_are_filled_in() -> None:
    schema = {
        "type": "object",
        "properties": {"at": {"$ref": "#/$defs/place", "description": "場所"}},
        "$defs": {"place": {"type": "object", "properties": {"x": {"type": "number"}}}},
    }
    found = mcp_argument_schema(schema)["properties"]["at"]
    assert found["properties"] == {"x": {"type": "number"}}
    assert found["description"] == "場所"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"unit": "km", "far": 1.5}, None),
        ({"unit": "km", "far": 3, "more": [1]}, None),
        ({"far": 1}, "unit is missing"),
        ({"unit": "ri"}, 'unit must match {"type": "string", "enum": ["km", "里"]}'),
        ({"unit": "km", "far": "1"}, 'far must match {"type": ["number", "null"]}'),
        ({"unit": "km", "far": True}, 'far must match {"type": ["number", "null"]}'),
        ({"unit": "km", "far": None}, None),
    ],
)
def test_arguments_are_compared_with_a_schema(given: dict[str, Any], told: str | None) -> None:
    schema = {
        "type": "object",
        "properties": {
            "unit": {"type": "string", "enum": ["km", "里"]},
            "far": {"type": ["number", "null"]},
        },
        "required": ["unit"],
    }
    assert find_mcp_argument_problem(schema, given) == told
    closed = {**schema, "additionalProperties": False}
    assert find_mcp_argument_problem(closed, {"unit": "km", "x": 1}) == (
        "x is no argument; there are: unit, far"
    )


@pytest.mark.parametrize(
    ("rule", "value", "told"),
    [
        ({"type": [["x"], {"y": 1}, "string"]}, "里", None),
        ({"type": [["x"]]}, 1, None),
        ({"type": "string", "nullable": True}, None, None),
        ({"type": "string"}, None, 'x must match {"type": "string"}'),
        ({"type": "integer"}, 3.0, None),
        ({"type": "integer"}, 3.5, 'x must match {"type": "integer"}'),
    ],
)
def test_rules_that_servers_write_are_understood(
    rule: dict[str, Any], value: object, told: str | None
) -> None:
    schema = mcp_argument_schema({"properties": {"x": rule}})
    assert find_mcp_argument_problem(schema, {"x": value}) == told


@pytest.mark.parametrize(
    "rule",
    [
        {"type": ["x"]},
        {"type": []},
        {"type": {"a": 1}},
        {"enum": []},
        {"enum": "ab"},
        {"required": [1]},
        {"format": 5},
        {"nullable": "yes"},
        {"additionalProperties": "no"},
        {"anyOf": 5},
    ],
)
def test_what_providers_would_refuse_is_left_out(rule: dict[str, Any]) -> None:
    sound = {"type": ["string", "null"], "enum": ["里"]}
    found = mcp_argument_schema({"properties": {"x": rule, "y": sound}, **rule, "type": "object"})
    assert found == {"type": "object", "properties": {"x": {}, "y": sound}}


HIDDEN = "\u202e\U000e0041"


def test_a_schema_tells_models_only_what_people_see() -> None:
    said = {"type": "string", "description": f"場所{HIDDEN}\nof the file"}
    found = McpTool.of({"name": "a", "inputSchema": {"properties": {"at": said}}})
    assert found.parameters["properties"]["at"]["description"] == "場所 of the file"
    long = McpTool.of(
        {"name": "a", "inputSchema": {"properties": {"at": {"description": "潮" * 2_000}}}}
    )
    assert len(long.parameters["properties"]["at"]["description"]) == 1_000


@pytest.mark.parametrize(
    "properties",
    [
        {f"at{HIDDEN}": {}},
        {"at": {"enum": [f"a{HIDDEN}"]}},
        {"at": {"default": {"deep": [HIDDEN]}}},
        {"at": {"items": {"properties": {"x": {"const": HIDDEN}}}}},
    ],
)
def test_hidden_names_and_values_make_a_tool_unusable(properties: dict[str, Any]) -> None:
    found = McpTool.of({"name": "a", "inputSchema": {"properties": properties}})
    assert "invisible characters" in found.problem
    assert found.parameters == {}
