"""Arguments of actions that others describe: a class made of a JSON Schema."""

import json
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator

from opencrab.domain.mcp.schema import find_mcp_argument_problem


class SchemaArguments(BaseModel):
    """The arguments of a call, as they are; a class of its own for each tool has its schema."""

    model_config = ConfigDict(extra="allow", frozen=True, hide_input_in_errors=True)


@lru_cache(maxsize=512)
def argument_class_of_turn_schema(text: str) -> type[BaseModel]:
    """Return the class of a tool's arguments, by their schema as JSON.

    Names, types and choices are checked; the rest is up to whoever runs the tool.
    """
    schema: dict[str, Any] = json.loads(text)

    class ToolArguments(SchemaArguments):
        @model_validator(mode="before")
        @classmethod
        def _check(cls, given: Any) -> Any:
            problem = find_mcp_argument_problem(schema, given)
            if problem is not None:
                raise ValueError(problem)
            return given

        @classmethod
        def model_json_schema(cls, *_args: Any, **_options: Any) -> dict[str, Any]:
            return schema | {}

    return ToolArguments
