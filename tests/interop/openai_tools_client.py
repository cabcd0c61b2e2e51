"""Tools that OpenAI's own Python client runs for an agent, in an environment of its own.

Writes one JSON object for each step.
"""

import json
import sys
from typing import Any

import openai
import pydantic

URL, KEY = sys.argv[1:3]
client = openai.OpenAI(base_url=f"{URL}/v1", api_key=KEY, timeout=60)


class Tide(pydantic.BaseModel):
    """When the tide is high."""

    place: str


def tell(**step: Any) -> None:
    sys.stdout.write(f"{json.dumps(step, ensure_ascii=False)}\n")
    sys.stdout.flush()


def chat() -> None:
    """The library's parser of calls, until the agent answers in words."""
    messages: list[Any] = [{"role": "user", "content": "tide please"}]
    tools: list[Any] = [openai.pydantic_function_tool(Tide, name="tide")]
    while True:
        answer = client.chat.completions.parse(model="蟹", messages=messages, tools=tools)
        choice = answer.choices[0]
        messages.append(choice.message)
        tell(finish=choice.finish_reason, said=choice.message.content)
        if not choice.message.tool_calls:
            return
        for call in choice.message.tool_calls:
            place = call.function.parsed_arguments
            assert isinstance(place, Tide)
            messages.append(
                {"role": "tool", "tool_call_id": call.id, "content": f"{place.place}は六時🌊"}
            )


def stream() -> None:
    """The library's stream helper, which puts the calls together."""
    tools: list[Any] = [openai.pydantic_function_tool(Tide, name="tide")]
    messages: list[Any] = [{"role": "user", "content": "tide streamed"}]
    with client.chat.completions.stream(model="蟹", messages=messages, tools=tools) as events:
        message = events.get_final_completion().choices[0].message
    calls = message.tool_calls or []
    results = [{"role": "tool", "tool_call_id": each.id, "content": "six"} for each in calls]
    messages += [message, *results]
    with client.chat.completions.stream(model="蟹", messages=messages, tools=tools) as events:
        said = events.get_final_completion().choices[0].message.content
    called = calls[0].function
    tell(streamed=called.name, arguments=called.arguments, said=said)


def respond() -> None:
    """The newer interface, streamed, by the id of the response before."""
    tools: list[Any] = [openai.pydantic_function_tool(Tide, name="tide")["function"]]
    tools = [{"type": "function", **tools[0]}]
    with client.responses.stream(model="蟹", input="tide response", tools=tools) as events:
        first = events.get_final_response()
    calls = [item for item in first.output if item.type == "function_call"]
    second = client.responses.create(
        model="蟹",
        previous_response_id=first.id,
        input=[
            {"type": "function_call_output", "call_id": call.call_id, "output": "six"}
            for call in calls
        ],
    )
    tell(calls=[call.name for call in calls], status=first.status, said=second.output_text)
    try:
        client.responses.create(model="蟹", input="x", tools=tools, tool_choice="required")
    except openai.UnprocessableEntityError as error:
        tell(refused=error.param)


chat()
stream()
respond()
