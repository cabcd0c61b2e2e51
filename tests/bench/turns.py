"""What a turn costs in process: CPU from admission to close, its growth, its parts."""

import http.client
import json
import statistics
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from opencrab.domain.models.routing import CallOptions
from opencrab.domain.turn.transcript import Transcript
from opencrab.engine.turn.observe import load_turn_work
from opencrab.engine.turn.prompt.request import build_turn_prompt_request
from opencrab.ports.turn.journal import StepState
from tests.bench.world import World

TURNS = 150
BATCHES = 5


def cpu_ms(run: Callable[[], object], times: int) -> float:
    """CPU milliseconds of this process per run: the median of five batches."""
    batches = []
    for _ in range(BATCHES):
        started = time.process_time()
        for _ in range(times // BATCHES):
            run()
        batches.append((time.process_time() - started) * 1_000 / (times // BATCHES))
    return statistics.median(batches)


def bare_loop_ms(base_url: str) -> float:
    """The least a turn could cost: two requests and answers with json and http.client alone."""
    address = urlsplit(base_url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port)
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    tools = [
        {"type": "function", "function": {"name": f"action_{n}", "parameters": schema}}
        for n in range(7)
    ]
    history: list[dict[str, object]] = [
        {"role": "user", "content": f"{n}番目の発言です。"} for n in range(10)
    ]

    def turn() -> None:
        messages: list[dict[str, object]] = [*history, {"role": "user", "content": "メモを書いて"}]
        for _ in range(2):
            request = {"model": "stub", "messages": messages, "tools": tools, "max_tokens": 2_048}
            body = json.dumps(request, ensure_ascii=False).encode()
            headers = {"content-type": "application/json"}
            connection.request("POST", "/v1/chat/completions", body, headers)
            answer = json.loads(connection.getresponse().read())["choices"][0]["message"]
            messages.append(answer)
            for call in answer.get("tool_calls") or ():
                json.loads(call["function"]["arguments"])
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": "{}"})

    turn()
    return cpu_ms(turn, TURNS)


def turn_ms(world: World, lines: int) -> float:
    """CPU of one turn (one action, two model calls) in sessions with so many lines of history."""
    agent_id = world.agent("蟹")
    sessions = [world.session(agent_id, lines) for _ in range(TURNS + 1 if lines <= 10 else 1)]
    left = list(sessions)

    def turn() -> None:
        session_id = left.pop() if len(left) > 1 else left[0]
        world.say(session_id)
        world.work()

    turn()
    return cpu_ms(turn, TURNS)


def load_ms(world: World) -> float:
    """CPU of loading one agent whole."""
    agent_id = world.agent("蟹")
    return cpu_ms(lambda: world.runtime.home.agents.get(agent_id), 1_000)


def flush_ms(world: World) -> float:
    """Wall milliseconds of one durable change of an agent: the median of many."""
    agent_id = world.agent("蟹")
    taken = []
    for _ in range(50):
        agent = world.runtime.home.agents.get(agent_id).agent
        started = time.perf_counter()
        world.runtime.home.agents.save(agent)
        taken.append((time.perf_counter() - started) * 1_000)
    return statistics.median(taken)


def prompt_bytes(world: World) -> int:
    """Bytes of prompt and action schemas that stand before the user's words."""
    session_id = world.session(world.agent("蟹"))
    turn = world.say(session_id)[0]
    work = load_turn_work(world.runtime, turn, Transcript())
    model = world.runtime.models.get(None)
    request = build_turn_prompt_request(
        work, model.info, CallOptions(), work.look(StepState(None, ()))
    )
    world.work()
    schemas = json.dumps([schema.model_dump() for schema in request.actions], ensure_ascii=False)
    return len(schemas.encode()) + len(request.system.encode())
