"""What must hold of every call of a model, whatever the model says: on the wire and in the home."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import httpx
import jsonschema

from opencrab.adapters.local_files import LocalBlobs, LocalFiles
from opencrab.adapters.sqlite.home import open_sqlite_home
from opencrab.adapters.system_clock import SystemClock
from opencrab.domain.turn.record import CallState, ModelIntent, ModelResult
from opencrab.domain.turn.transcript import Transcript
from opencrab.domain.turn.turn import Trigger, Turn, TurnStatus
from opencrab.ports.home import Home
from tests.llama.relay import Exchange
from tests.llama.server import LlamaServer

ENDED = {TurnStatus.COMPLETED, TurnStatus.IDLE, TurnStatus.EXHAUSTED, TurnStatus.WAITING}
"""What a turn may come to by what the model says; another end is a fault, or somebody's stop."""

_CUT = "length"
_READ: tuple[str, ...] = ("messages", "tools")
Call = tuple[str, str]


def judge_wire(server: LlamaServer, exchanges: Iterable[Exchange]) -> None:
    """Each prompt was read whole, and each call is valid by the schema of a tool that it had."""
    for exchange in exchanges:
        assert exchange.status == 200, exchange.reply
        if not exchange.is_whole:
            continue
        counted = exchange.usage
        assert counted["prompt_tokens"] == prompt_tokens(server, exchange.request)
        assert counted["prompt_tokens"] + counted["completion_tokens"] <= server.context_tokens
        schemas = {
            tool["function"]["name"]: tool["function"]["parameters"]
            for tool in exchange.request.get("tools", ())
        }
        for name, arguments in whole_calls(exchange):
            jsonschema.validate(json.loads(arguments), schemas[name])
        if "response_format" in exchange.request and exchange.finish != _CUT:
            form = exchange.request["response_format"]["json_schema"]["schema"]
            jsonschema.validate(json.loads(exchange.text), form)


def whole_calls(exchange: Exchange) -> Sequence[Call]:
    """The calls of an answer, but for one that its token limit may have cut."""
    return exchange.calls[:-1] if exchange.finish == _CUT else exchange.calls


def prompt_tokens(server: LlamaServer, request: dict[str, Any]) -> int:
    """How many tokens the server makes of all that a request has for its model to read."""
    read: dict[str, Any] = {name: request[name] for name in _READ if name in request}
    prompt = _ask(server, "/apply-template", read)["prompt"]
    return len(_ask(server, "/tokenize", {"content": prompt, "parse_special": True})["tokens"])


def _ask(server: LlamaServer, path: str, body: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = httpx.post(server.url + path, json=body, timeout=60).json()
    return found


def judge_home(
    data: Path, agents: Sequence[str], turns: Sequence[str], exchanges: Sequence[Exchange]
) -> None:
    """Each turn came to an end, and journal and ledger have each call as the wire had it."""
    files, blobs = LocalFiles(data), LocalBlobs(data)
    home, database = open_sqlite_home(data, SystemClock(), files=files, blobs=blobs)
    try:
        asked = _judge_ledger(home, agents, exchanges)
        _judge_journal(home, asked | set(turns), exchanges)
    finally:
        database.close()


def _judge_ledger(home: Home, agents: Sequence[str], exchanges: Sequence[Exchange]) -> set[str]:
    """Return the turns that asked the model."""
    rows = [row for agent in agents for row in home.usage.rows(agent, limit=500)]
    whole = Counter(exchange.is_whole for exchange in exchanges)
    states = Counter(row.state for row in rows)
    # A call that was cancelled as its last words arrived is whole for the server alone.
    late = states[CallState.CANCELLED]
    assert states[CallState.COMPLETED] + late >= whole[True], states
    assert states.total() - states[CallState.COMPLETED] - late <= whole[False], states
    counted = Counter(
        (row.usage.input_tokens, row.usage.output_tokens, row.usage.cached_tokens) for row in rows
    )
    assert len(rows) == len(exchanges)
    told = Counter(
        (each.usage["prompt_tokens"], each.usage["completion_tokens"], each.cached_tokens)
        for each in exchanges
        if each.is_whole
    )
    assert (told - counted).total() <= late, states
    return {row.turn_id for row in rows}


def _judge_journal(home: Home, turns: set[str], exchanges: Sequence[Exchange]) -> None:
    made, asked = Counter[Call](), 0
    for turn_id in turns:
        recorded = home.journal.load(turn_id)
        assert _is_no_fault(recorded.turn), recorded.turn
        intents = [each for each in recorded.records if isinstance(each, ModelIntent)]
        results = [each for each in recorded.records if isinstance(each, ModelResult)]
        assert len(intents) == len(results)
        asked += len(results)
        for step in Transcript.of(recorded.records).steps:
            for call in step.answer.calls:
                made[call.name, _canonical(call.arguments)] += 1
                unfinished = recorded.turn.status in {TurnStatus.WAITING, TurnStatus.STOPPED}
                assert unfinished or step.results[call.id].state is not CallState.RUNNING
    assert asked == len(exchanges)
    sent = (call for each in exchanges if each.is_whole for call in whole_calls(each))
    wired = Counter((name, _canonical(json.loads(arguments))) for name, arguments in sent)
    assert wired <= made


def _is_no_fault(turn: Turn) -> bool:
    """Whether a turn ended as it may; a summary is refused if the model's words are none."""
    is_summary = turn.trigger is Trigger.COMPACTION and turn.status is TurnStatus.FAILED
    return turn.status in ENDED or turn.stop is not None or is_summary


def _canonical(arguments: Any) -> str:
    return json.dumps(arguments, sort_keys=True, ensure_ascii=False)
