"""Tools that clients run themselves: as they offer them, and the ids of the calls that they get.

Source of the format: OpenAI's API reference, "Function calling". Schemas are read as those of MCP
servers are: references are filled in, rare keywords and hidden characters left out.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from opencrab.domain.client_tools import ClientTool, ClientTools, client_action_name
from opencrab.domain.errors import Invalid, NotFound
from opencrab.domain.mcp.schema import mcp_argument_schema
from opencrab.domain.mcp.text import DESCRIPTION, visible_mcp_text
from opencrab.gateways.rest.openai.client_messages import ClientMessage

MOST_TOOLS = 64
TOOLS_BYTES = 32 * 1024
"""The most bytes of all schemas with their descriptions, as JSON: each model call has them."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_CALL_ID = re.compile(r"call_([0-9a-z]{1,40})_([0-9]{1,6})_([0-9]{1,4})")
_HONEST = (None, "auto", "none")


@dataclass(frozen=True, slots=True)
class ClientCallResults:
    """What a client's tools returned for calls of one turn's nth record, by their places."""

    turn_id: str
    n: int
    texts: Mapping[int, str]


def client_tools_of_request(
    tools: Iterable[Any] | None, choice: Any, *, parallel: bool | None
) -> ClientTools | None:
    """Return the tools that an agent is offered, None if there are none; raises Invalid."""
    if choice not in _HONEST:
        raise Invalid(
            "tool_choice can be auto or none here: an agent decides itself what it calls",
            field="tool_choice",
            cure="omit it, and say in a message what you want",
        )
    listed = list(tools or ())
    if len(listed) > MOST_TOOLS:
        raise Invalid(
            f"{len(listed)} tools are too many", field="tools", cure=f"offer at most {MOST_TOOLS}"
        )
    read = tuple(_tool(place, each) for place, each in enumerate(listed))
    names = [tool.name for tool in read]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise Invalid(f"two tools are called {twice!r}", field="tools", cure="rename one of them")
    size = sum(len(tool.model_dump_json().encode()) for tool in read)
    if size > TOOLS_BYTES:
        raise Invalid(
            f"the descriptions and schemas of the tools take {size} bytes",
            field="tools",
            cure=f"shorten them to {TOOLS_BYTES}, or offer fewer",
        )
    if not read or choice == "none":
        return None
    return ClientTools(tools=read, one_at_a_time=parallel is False)


def client_call_id(turn_id: str, n: int, place: int) -> str:
    """Return the id of a call as its client knows it."""
    return f"call_{turn_id}_{n}_{place}"


def client_call_results(results: Iterable[ClientMessage], field: str) -> ClientCallResults:
    """Return results by the places of their calls; raises Invalid and NotFound for other ids."""
    found, asked = dict[int, str](), set[tuple[str, int]]()
    for result in results:
        named = _CALL_ID.fullmatch(result.call_id)
        if named is None:
            raise unknown_client_call(result.call_id, field)
        if int(named[3]) in found:
            raise Invalid(
                f"call {result.call_id!r} has two results", field=field, cure="send one of them"
            )
        asked.add((named[1], int(named[2])))
        found[int(named[3])] = result.text
    if len(asked) > 1:
        raise Invalid(
            "the results are of calls of several answers",
            field=field,
            cure="send those behind the last answer only",
        )
    turn_id, n = asked.pop()
    return ClientCallResults(turn_id, n, found)


def unknown_client_call(call_id: str, field: str) -> NotFound:
    """Return the error for a call that there is not, or that somebody else's agent made."""
    return NotFound(
        f"no call {call_id[:80]!r} waits for a result here",
        field=field,
        cure="use the ids of the last answer's tool calls; leave out those of another model",
    )


def _tool(place: int, offered: Any) -> ClientTool:
    """Read one tool, of either interface; raises Invalid."""
    told = offered if isinstance(offered, dict) else {}
    if told.get("type") != "function":
        raise Invalid(
            f"tool {place} is no function: agents have their own tools for the rest",
            field="tools",
            cure='offer tools of the type "function"',
        )
    inner = told.get("function")
    told = inner if isinstance(inner, dict) else told
    name, said = told.get("name"), told.get("description") or ""
    if not isinstance(name, str) or not _NAME.fullmatch(name) or not isinstance(said, str):
        raise Invalid(
            f"tool {place} has no name of at most 64 letters, digits, _ and -, or its description"
            " is no text",
            field="tools",
            cure="correct it",
        )
    try:
        parameters = mcp_argument_schema(told.get("parameters") or {})
    except Invalid as error:
        raise Invalid(
            f"tool {name!r}: {error.message}", field="tools", cure="correct its parameters"
        ) from None
    return ClientTool(
        name=name,
        action=client_action_name(name),
        description=visible_mcp_text(said, DESCRIPTION),
        parameters=json.loads(json.dumps(parameters)),
    )
