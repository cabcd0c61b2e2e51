"""Asking an agent over MCP: a turn in a session, its answer as far as it comes in time.

A turn is admitted once however often its request arrives, and goes on when the wait ends. What it
says later is read with `follow_turn`.
"""

import asyncio
import json
from collections.abc import Sequence
from functools import partial
from typing import Any

from fastapi.concurrency import run_in_threadpool

from opencrab.domain.conversation.message import LineKind
from opencrab.domain.errors import Conflict, Invalid
from opencrab.domain.identifier import content_hash, stable_id
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.engine.access.visibility import require_access_to_turn
from opencrab.engine.turn.control import is_turn_waiting_for_result
from opencrab.gateways.rest.conversation.replies import Replies, wait_for_session_replies
from opencrab.gateways.rest.http.polling import EVERY
from opencrab.gateways.rest.insight.turn_outcome import TurnOutcome, insight_turn_outcome
from opencrab.gateways.rest.mcp.client_request import McpRequest
from opencrab.gateways.rest.mcp.route_calls import RouteProblem
from opencrab.gateways.rest.mcp.rpc import RequestId
from opencrab.gateways.rest.mcp.tool_result import ToolResult
from opencrab.ports.texts import Texts

WAIT_SECONDS = 45
"""Clients give up after 60 seconds unless they are set otherwise."""

LONGEST_WAIT = 600
_LOOK_SECONDS = 2.0
_ADMISSION_LOOKS = 10
_ADMISSION_SECONDS = 0.3
_CANCELLED = content_hash(b"cancelled")
_STOPS = {"waiting", "paused"}
"""Statuses of a task in which nothing more happens unless a human acts."""

_TEXTS = Texts(__file__)


async def ask_agent(called: McpRequest) -> ToolResult:
    """Send a message to an agent, and wait for the answer."""
    if not called.arguments["message"].strip():
        raise Invalid("message is blank", field="message", cure="write what to say")
    # Whoever leaves meanwhile may still cancel it, as the note says what was admitted.
    turn_ids = await asyncio.shield(_admit(called))
    return await _wait_for_turns(called, turn_ids)


async def follow_turn(called: McpRequest) -> ToolResult:
    """Wait for the answer of a turn that was admitted before."""
    return await _wait_for_turns(called, [called.arguments["turn_id"]])


async def follow_task(called: McpRequest) -> ToolResult:
    """Wait until a task has ended, or waits for a human."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _wait_seconds(called)
    place = f"/api/agents/{called.arguments['agent_id']}/tasks/{called.arguments['task_id']}"
    async with called.api.watch.watching(EVERY) as next_change:
        while True:
            view = await called.routes.call("GET", place)
            left = deadline - loop.time()
            if view["over"] or view["status"] in _STOPS or left <= 0:
                return ToolResult(view)
            if await next_change(min(left, _LOOK_SECONDS)):
                return ToolResult(view)


async def cancel_mcp_request(asked: McpRequest, number: RequestId) -> None:
    """Stop the turns of a request; one that has not begun yet will not begin."""
    marker = asked.marker(number)
    if marker is None:
        return
    store, now = asked.runtime.home.idempotency, asked.runtime.clock.now()
    for _ in range(_ADMISSION_LOOKS):
        earlier = await run_in_threadpool(store.begin, marker, _CANCELLED, now)
        if earlier is None or earlier.request_hash == _CANCELLED:
            return
        if earlier.status is not None:
            for turn_id in json.loads(earlier.body or "[]"):
                await _stop_turn(asked, turn_id)
            return
        # Its message is being admitted just now.
        await asyncio.sleep(_ADMISSION_SECONDS)


async def _stop_turn(asked: McpRequest, turn_id: str) -> None:
    said = str(asked.message.params.get("reason") or "")
    # A character that the route refuses must not keep the turn running, and paid for.
    reason = "".join(each for each in said if each.isprintable())[:200]
    key = stable_id("mcp-cancel", turn_id)
    try:
        await asked.routes.call(
            "POST", f"/api/turns/{turn_id}/cancel", body={"reason": reason}, key=key
        )
    except RouteProblem:
        # A notification has no answer; only a session that others opened brings one here.
        return


async def _admit(called: McpRequest) -> list[str]:
    """Admit a message once, and return the turns that answer it."""
    await run_in_threadpool(_note_begin, called)
    given, key = called.arguments, called.idempotency_key()
    session_id = given.get("session_id")
    if session_id is None:
        session_id = await _open_session(called, key)
    else:
        await _require_agent_in_session(called, session_id)
    accepted = await called.routes.call(
        "POST",
        f"/api/sessions/{session_id}/messages",
        body={"text": given["message"]},
        key=key,
    )
    turn_ids: list[str] = accepted["turn_ids"]
    await run_in_threadpool(_note_turns, called, turn_ids)
    return turn_ids


async def _require_agent_in_session(called: McpRequest, session_id: str) -> None:
    """Raise Invalid if a session is one of other agents, who would hear what is not for them."""
    session = await called.routes.call("GET", f"/api/sessions/{session_id}")
    if called.arguments["agent_id"] not in {each["agent_id"] for each in session["participants"]}:
        raise Invalid(
            f"agent {called.arguments['agent']!r} does not take part in session {session_id!r}",
            field="session_id",
            cure="name another session, or omit session_id",
        )


def _note_begin(called: McpRequest) -> None:
    """Note that a request begins; raises Conflict if it was cancelled before, or was another."""
    marker = called.marker(called.message.id)
    if marker is None:
        return
    said = json.dumps(called.arguments, sort_keys=True).encode()
    now = called.runtime.clock.now()
    earlier = called.runtime.home.idempotency.begin(marker, content_hash(said), now)
    if earlier is not None and earlier.request_hash == _CANCELLED:
        raise Conflict("this request was cancelled before it began", cure="ask again if needed")
    if earlier is not None and earlier.request_hash != content_hash(said):
        raise Conflict(
            "this request's id was already used for another request of the session",
            cure="give each request of a session an id of its own",
        )


def _note_turns(called: McpRequest, turn_ids: Sequence[str]) -> None:
    marker = called.marker(called.message.id)
    if marker is not None:
        called.runtime.home.idempotency.finish(marker, 200, json.dumps(turn_ids))


async def _open_session(called: McpRequest, key: str) -> str:
    """Return the agent's session in this connection; without one, or if wished, a new one."""
    agent_id = called.arguments["agent_id"]
    goes_on = called.session is not None and not called.arguments.get("new_session")
    place = stable_id("mcp-session", called.session or "", agent_id) if goes_on else key
    opened = await called.routes.call(
        "POST", "/api/sessions", body={"participants": [agent_id]}, key=place
    )
    return str(opened["id"])


async def _wait_for_turns(called: McpRequest, turn_ids: Sequence[str]) -> ToolResult:
    replies = await run_in_threadpool(_replies, called, turn_ids)
    session_id = replies.turns[0].session_id
    async with called.api.watch.watching(session_id, settled=True) as next_change:
        # How the turns are now, as a change before this is not noticed any more.
        await run_in_threadpool(replies.look)
        result = await wait_for_session_replies(
            replies, next_change, _wait_seconds(called), partial(_result_of_turns, called, replies)
        )
    # The session may not be shared any more; of the key `call_mcp_tool` asks.
    await run_in_threadpool(_require_access, called, replies.turns)
    return result


def _replies(called: McpRequest, turn_ids: Sequence[str]) -> Replies:
    home = called.runtime.home
    turns = tuple(home.journal.header(turn_id) for turn_id in turn_ids)
    _require_access(called, turns)
    return Replies(home.journal, turns)


def _require_access(called: McpRequest, turns: Sequence[Turn]) -> None:
    for turn in turns:
        require_access_to_turn(called.runtime.home, called.caller.principal, turn)


def _wait_seconds(called: McpRequest) -> int:
    wished = min(called.arguments.get("wait_seconds", WAIT_SECONDS), LONGEST_WAIT)
    return max(called.api.capped_wait(int(wished)) or 0, 0)


def _result_of_turns(called: McpRequest, replies: Replies) -> ToolResult:
    """Return what the turns have said so far, and what to do about those that go on."""
    outcomes = [_outcome(called, turn) for turn in replies.turns]
    said = [
        {"agent_id": line.speaker_id, "kind": line.kind, "text": line.text}
        for line in replies.lines
    ]
    content: dict[str, Any] = {
        "session_id": replies.turns[0].session_id,
        "turns": [outcome.model_dump(mode="json") for outcome in outcomes],
        "replies": said,
        "pending": list(replies.pending),
    }
    has_spoken = any(line.kind is LineKind.SPEECH for line in replies.lines)
    # A line of the session may have said the reason already.
    heard = {line.text for line in replies.lines}
    errors = [
        part
        for error in (each.error for each in outcomes)
        if error is not None
        for part in (error.message, error.cure)
        if part not in heard
    ]
    notes = [
        _TEXTS[_note_of(called, turn)][called.language].format(turn=turn.id)
        for turn in replies.turns
        if not turn.status.is_end
    ]
    text = "\n\n".join([*(line.text for line in replies.lines), *errors, *notes])
    return ToolResult(
        content, text or _TEXTS["silent"][called.language], bool(errors and not has_spoken)
    )


def _note_of(called: McpRequest, turn: Turn) -> str:
    """Return which text says what a turn that has not ended waits for."""
    if turn.status is not TurnStatus.WAITING:
        return "pending"
    is_for_client = is_turn_waiting_for_result(called.runtime.home, turn)
    return "waiting_for_client" if is_for_client else "waiting"


def _outcome(called: McpRequest, turn: Turn) -> TurnOutcome:
    return insight_turn_outcome(called.runtime.home.journal, turn, called.language)
