"""What an action's parameters become for Gemini: nothing that it refuses, nothing narrower."""

from typing import Any

import pytest

from opencrab.adapters.providers.google.schema import gemini_schema


def test_a_schema_that_gemini_knows_stays_as_it_is() -> None:
    schema = {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "道", "maxLength": 9, "pattern": "^a"},
            "kind": {"type": "string", "enum": ["猫", "蟹"], "default": "蟹"},
            "sizes": {"type": "array", "items": {"type": "integer", "minimum": 1}},
            "more": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "required": ["path"],
        "additionalProperties": False,
    }
    assert gemini_schema(schema) == schema


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"const": "蟹", "type": "string"}, {"enum": ["蟹"], "type": "string"}),
        ({"type": "integer", "exclusiveMinimum": 0}, {"type": "integer", "minimum": 1}),
        ({"type": "integer", "exclusiveMaximum": 9}, {"type": "integer", "maximum": 8}),
        ({"type": "number", "exclusiveMinimum": 0}, {"type": "number", "minimum": 0}),
        ({"type": "number", "exclusiveMinimum": True}, {"type": "number"}),
        ({"allOf": [{"type": "string"}], "title": "a"}, {"type": "string", "title": "a"}),
        ({"type": "string", "$schema": "x", "examples": [1], "uniqueItems": True, "not": {}},
         {"type": "string"}),
        ({"$ref": "#/$defs/Crab"}, {"$ref": "#/$defs/Crab"}),
        (
            {"$ref": "#/$defs/Crab", "description": "蟹"},
            {"anyOf": [{"$ref": "#/$defs/Crab"}], "description": "蟹"},
        ),
        ({"items": True}, {"items": True}),
    ],
)  # fmt: skip
def test_what_gemini_does_not_know_is_said_in_other_words_or_left_out(
    schema: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert gemini_schema(schema) == expected
    nested = {"properties": {"const": schema}, "$defs": {"allOf": schema}}
    assert gemini_schema(nested) == {
        "properties": {"const": expected},
        "$defs": {"allOf": expected},
    }


def test_the_schema_that_was_given_is_not_changed() -> None:
    schema = {"allOf": [{"$ref": "#/$defs/A"}], "description": "x", "const": 1}
    gemini_schema(schema)
    assert schema == {"allOf": [{"$ref": "#/$defs/A"}], "description": "x", "const": 1}


def test_endless_nesting_ends() -> None:
    schema: dict[str, Any] = {}
    for _ in range(5_000):
        schema = {"items": schema}
    assert "items" in gemini_schema(schema)
