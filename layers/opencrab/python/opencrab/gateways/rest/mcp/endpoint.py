"""`/mcp`: clients of the Model Context Protocol talk to agents, over Streamable HTTP.

Each request stands alone, so that any process may answer it. Nothing is sent unasked: there is no
stream of the server's own.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import suppress
from http import HTTPStatus

from fastapi import APIRouter, Request, Response

from opencrab.domain.mcp.protocol import McpErrorCode
from opencrab.gateways.rest.http.access import CALLER, Caller
from opencrab.gateways.rest.http.dependencies import Api
from opencrab.gateways.rest.http.event_stream import http_event_stream_response
from opencrab.gateways.rest.mcp.client_request import McpRequest
from opencrab.gateways.rest.mcp.methods import answer_mcp_method, heed_mcp_notification
from opencrab.gateways.rest.mcp.route_calls import RouteCalls
from opencrab.gateways.rest.mcp.rpc import (
    RpcError,
    RpcMessage,
    is_rpc_id,
    parse_rpc_message,
    rpc_error,
    rpc_progress,
    rpc_result,
)
from opencrab.gateways.rest.mcp.sessions import (
    SESSION_HEADER,
    new_mcp_session,
    require_mcp_origin,
    require_mcp_revision,
    require_mcp_session,
)

log = logging.getLogger(__name__)

PROGRESS_SECONDS = 3.0
_INITIALIZE = "initialize"

router = APIRouter(include_in_schema=False)


@router.post("/mcp")
async def answer_mcp_message(request: Request, api: Api) -> Response:
    """Answer one message of an MCP client."""
    message: RpcMessage | None = None
    caller: Caller = request.scope[CALLER]
    try:
        require_mcp_origin(request.headers)
        message = parse_rpc_message(await request.body())
        asked = _request(request, api, caller, message)
        if message.id is None or not message.method:
            await heed_mcp_notification(asked)
            return Response(status_code=HTTPStatus.ACCEPTED)
    except RpcError as error:
        number = None if message is None else message.id
        return _json(rpc_error(number, error, caller.language), status=error.status)
    if _may_stream(request, api, message):
        return http_event_stream_response(_events(asked))
    headers = {}
    if message.method == _INITIALIZE:
        headers[SESSION_HEADER] = new_mcp_session(asked.caller)
    return _json(await _answer(asked), headers)


def _request(request: Request, api: Api, caller: Caller, message: RpcMessage) -> McpRequest:
    session = None
    if message.method != _INITIALIZE:
        require_mcp_revision(request.headers)
        session = require_mcp_session(request.headers, caller)
    routes, repeat = RouteCalls(request), request.headers.get("idempotency-key")
    return McpRequest(api, caller, routes, message, session, repeat)


async def _answer(asked: McpRequest) -> str:
    """Return the answer to a request, be it an error of the protocol."""
    try:
        return rpc_result(asked.message.id, await answer_mcp_method(asked))
    except RpcError as error:
        return rpc_error(asked.message.id, error, asked.language)


def _may_stream(request: Request, api: Api, message: RpcMessage) -> bool:
    """Check whether progress is wished and can be told; on Lambda an answer comes as a whole."""
    wished = is_rpc_id(message.meta.get("progressToken")) and message.method == "tools/call"
    reads = "text/event-stream" in request.headers.get("accept", "")
    return wished and reads and api.longest_seconds is None


async def _events(asked: McpRequest) -> AsyncGenerator[str, None]:
    """Tell every few seconds that a request is worked on, and then its answer."""
    token = asked.message.meta["progressToken"]
    task = asyncio.ensure_future(_answer(asked))
    try:
        told = 0
        while not (await asyncio.wait({task}, timeout=PROGRESS_SECONDS))[0]:
            told += 1
            seconds = round(told * PROGRESS_SECONDS)
            yield _event(rpc_progress(token, told, f"{seconds} s"))
        yield _event(_answer_of_task(asked, task))
    finally:
        # Whoever leaves stops waiting; what was admitted goes on.
        task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0)


def _answer_of_task(asked: McpRequest, task: "asyncio.Future[str]") -> str:
    """Return the answer; a stream has begun, so a fault of ours is told in it, as an error."""
    fault = task.exception()
    if fault is None:
        return task.result()
    log.error("a request of an MCP client failed", exc_info=fault)
    error = RpcError(McpErrorCode.INTERNAL_ERROR, "internal error; details were logged")
    return rpc_error(asked.message.id, error, asked.language)


def _event(line: str) -> str:
    return f"data: {line}\n\n"


def _json(
    line: str, headers: dict[str, str] | None = None, status: HTTPStatus = HTTPStatus.OK
) -> Response:
    return Response(line, status, headers, media_type="application/json")
