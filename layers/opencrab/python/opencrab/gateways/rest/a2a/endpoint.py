"""`POST /a2a/{agent}`: the JSON-RPC binding of A2A 1.0, for one agent.

Each request stands alone, so that any process may answer it.
"""

from http import HTTPStatus

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool

from opencrab.domain.a2a.protocol import (
    A2A_VERSION,
    A2A_VERSION_HEADER,
    A2A_VERSION_OF_SILENCE,
    A2aErrorCode,
    A2aMethod,
    is_a2a_version_spoken,
)
from opencrab.domain.errors import OpenCrabError
from opencrab.gateways.rest.a2a.client_request import A2aRequest, read_a2a_message
from opencrab.gateways.rest.a2a.errors import A2aError, a2a_response_text
from opencrab.gateways.rest.a2a.methods import answer_a2a_method, begin_a2a_stream
from opencrab.gateways.rest.a2a.task_stream import A2aTaskStream
from opencrab.gateways.rest.agents.agent_names import find_agent_by_id_or_name
from opencrab.gateways.rest.http.access import CALLER, Caller
from opencrab.gateways.rest.http.dependencies import Api
from opencrab.gateways.rest.http.event_stream import http_event_stream_response
from opencrab.gateways.rest.mcp.route_calls import RouteCalls, RouteProblem
from opencrab.gateways.rest.openai.answer import (
    ANSWER_SECONDS,
    CompletionAnswer,
    wait_for_chat_completion,
)

_STREAMED = frozenset({A2aMethod.STREAM, A2aMethod.SUBSCRIBE})

router = APIRouter(include_in_schema=False)


@router.post("/a2a/{agent}")
async def answer_a2a_request(request: Request, api: Api, agent: str) -> Response:
    """Answer one request of an A2A client."""
    number: str | int | None = None
    caller: Caller = request.scope[CALLER]
    try:
        message = read_a2a_message(await request.body())
        number = message.id
        _require_version(request)
        profile = await run_in_threadpool(
            find_agent_by_id_or_name,
            api.runtime.home.agents,
            caller.principal,
            agent,
            field="agent",
            cure="GET /api/agents lists the agents of this key",
        )
        base = str(request.base_url).rstrip("/")
        asked = A2aRequest(api, caller, RouteCalls(request), profile, message, base)
        if message.method in _STREAMED:
            return await _stream(asked, await begin_a2a_stream(asked))
        result = await answer_a2a_method(asked)
    except A2aError as error:
        return _refusal(number, error, caller)
    except OpenCrabError as error:
        return _refusal(number, A2aError.of(error), caller)
    except RouteProblem as error:
        return _refusal(number, A2aError(A2aErrorCode.INVALID_PARAMS, str(error)), caller)
    return _json(a2a_response_text(number, result=result))


async def _stream(asked: A2aRequest, answer: CompletionAnswer) -> Response:
    """Stream a task; where an answer is sent as a whole, as on Lambda, all that there is in time.

    A client that sees no end there subscribes again.
    """
    stream = A2aTaskStream(asked, answer)
    if asked.api.longest_seconds is None:
        return http_event_stream_response(
            stream.events(asked.api.watch, ANSWER_SECONDS, asked.caller.key_hash)
        )
    await wait_for_chat_completion(asked.api, answer, asked.caller.key_hash)
    events = await run_in_threadpool(lambda: "".join(stream.events_so_far()))
    return Response(events, media_type="text/event-stream")


def _require_version(request: Request) -> None:
    """Raise A2aError unless a request asks for the version that is spoken."""
    said = request.headers.get(A2A_VERSION_HEADER)
    if said is None:
        said = request.query_params.get(A2A_VERSION_HEADER, "")
    if not is_a2a_version_spoken(said):
        named = said.strip()[:20] or A2A_VERSION_OF_SILENCE
        raise A2aError(
            A2aErrorCode.VERSION_NOT_SUPPORTED,
            f"version {named!r} is not spoken here: send the header "
            f"{A2A_VERSION_HEADER}: {A2A_VERSION}",
        )


def _refusal(number: str | int | None, error: A2aError, caller: Caller) -> Response:
    told = error.told_in(caller.language)
    return _json(a2a_response_text(number, error=told), error.status)


def _json(text: str, status: HTTPStatus = HTTPStatus.OK) -> Response:
    return Response(text, status, media_type="application/json")
