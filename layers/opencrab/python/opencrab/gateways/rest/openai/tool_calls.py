"""Calls for which a turn waits for its client: what clients of OpenAI's API show as tool calls."""

import json
from typing import Literal

from opencrab.domain.client_tools import CLIENT_TOOLS, ClientTools
from opencrab.domain.turn.record import (
    action_name_of_turn_call,
    arguments_of_turn_call,
)
from opencrab.domain.turn.transcript import Transcript
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.domain.value import Value
from opencrab.engine.client_tools.results import find_client_calls
from opencrab.engine.runtime import Runtime
from opencrab.gateways.rest.openai.client_tools import client_call_id
from opencrab.ports.turn.journal import resolve_record_pointers


class CalledFunction(Value):
    """The tool that is called, and its arguments as JSON."""

    name: str
    arguments: str


class ToolCall(Value):
    """One call that the client has to run."""

    id: str
    type: Literal["function"] = "function"
    function: CalledFunction


def calls_awaiting_client(runtime: Runtime, turn: Turn) -> tuple[ToolCall, ...]:
    """Return the calls that a turn's client has to run now; () unless the turn waits for it."""
    if turn.status is not TurnStatus.WAITING:
        return ()
    home = runtime.home
    records = resolve_record_pointers(home.journal.load(turn.id).records, home.blobs)
    transcript = Transcript.of(records)
    asked = transcript.approval
    if asked is None or transcript.decision or not asked.wants_result:
        return ()
    waits = find_client_calls(runtime, turn, asked.n)
    offered = home.facts.get(turn.agent_id, CLIENT_TOOLS, turn.id)
    if waits is None or offered is None:
        return ()
    tools, made = offered.read(ClientTools), {e.id: e for e in transcript.steps[-1].answer.calls}
    found = list[ToolCall]()
    for place, call_id in enumerate(waits.call_ids):
        name = action_name_of_turn_call(made[call_id])
        tool = tools.of_action(name)
        arguments = json.dumps(arguments_of_turn_call(made[call_id]) or {}, ensure_ascii=False)
        called = CalledFunction(name=tool.name if tool else name, arguments=arguments)
        found.append(ToolCall(id=client_call_id(turn.id, asked.n, place), function=called))
    return tuple(found)
