"""Responses: the newer interface of OpenAI's API, for clients that take agents for models.

A response is a turn. The next request names it (`previous_response_id`), or sends the whole
conversation again, as with chat completions.
"""

from fastapi import Response
from fastapi.concurrency import run_in_threadpool

from opencrab.domain.access.policy import Verb
from opencrab.domain.conversation.client_transcript import ClientTranscript
from opencrab.domain.errors import Invalid, NotFound
from opencrab.domain.turn.turn import Turn
from opencrab.engine.access.visibility import require_access_to_turn
from opencrab.engine.client_tools.results import find_client_calls
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn import control
from opencrab.gateways.rest.http.access import Caller, Reader, Talker
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api
from opencrab.gateways.rest.http.event_stream import http_event_stream_response
from opencrab.gateways.rest.http.idempotency import Repeatable
from opencrab.gateways.rest.openai.answer import (
    ANSWER_SECONDS,
    CompletionAnswer,
)
from opencrab.gateways.rest.openai.client_admission import (
    ClientAdmission,
    client_conversation_with_model,
    resume_client_turn,
)
from opencrab.gateways.rest.openai.response_object import (
    RESPONSE_ID,
    ResponseFunctionCall,
    ResponseObject,
    response_of_answer,
)
from opencrab.gateways.rest.openai.response_request import ResponseRequest
from opencrab.gateways.rest.openai.response_stream import ResponseStream

_DIGITS = 8
_PREVIOUS = "previous_response_id"

router = http_routes_below("/v1/responses", "openai")


@router.post(
    "",
    response_model=ResponseObject,
    operation_id="create_openai_response",
    responses={
        200: {
            "description": "The response; with `stream` as server-sent events",
            "content": {"text/event-stream": {"schema": {"type": "string"}}},
        }
    },
)
async def answer_with_openai_response(
    api: Api, caller: Talker, once: Repeatable, body: Strict[ResponseRequest]
) -> Response:
    """Talk to an agent as clients of OpenAI's Responses talk to a model.

    With `background` the response is returned at once, and read by its id later. Otherwise the same
    request sent again while it is answered waits for the same answer; with an Idempotency-Key it is
    always the same.
    """
    body.require_supported()
    admission = await run_in_threadpool(_admission, api.runtime, caller, body)
    turn = await run_in_threadpool(admission.admit, once.key)
    answer = admission.answer(turn)
    asked = _unfilled_response(answer, body)
    stream = ResponseStream(answer, asked) if body.stream else None
    if stream and api.longest_seconds is None:
        response: Response = http_event_stream_response(
            stream.events(api.watch, ANSWER_SECONDS, caller.key_hash)
        )
    else:
        if body.background and not stream:
            await run_in_threadpool(answer.replies.read)
        else:
            await admission.wait_for_answer(api, answer)
            await run_in_threadpool(answer.require_answered)
        if stream:
            # Lambda sends an answer when it is complete, so its words come all at once.
            response = http_event_stream_response(stream.events_of_complete_answer())
        else:
            told = await run_in_threadpool(response_of_answer, answer, asked)
            response = Response(told.model_dump_json(), media_type="application/json")
    response.headers.update(answer.headers())
    return response


@router.get("/{response_id}", operation_id="get_openai_response")
def get_openai_response_of_turn(api: Api, caller: Reader, response_id: str) -> ResponseObject:
    """Get a response as it is now, by its id."""
    turn = _turn(api.runtime, caller, response_id, "response_id", Verb.READ)
    return _response_now(api.runtime, caller, turn, response_id)


@router.post(
    "/{response_id}/cancel", response_model=ResponseObject, operation_id="cancel_openai_response"
)
def cancel_openai_response_of_turn(
    api: Api, caller: Talker, response_id: str, once: Repeatable
) -> Response:
    """Cancel a response before its next model call or action; one that has ended stays as it is."""
    turn = _turn(api.runtime, caller, response_id, "response_id", Verb.CHANGE)

    def stop() -> ResponseObject:
        stopped = control.stop_turn(api.runtime, turn.id, by=caller.principal.id, reason="")
        return _response_now(api.runtime, caller, stopped, response_id)

    return once.answer(None, stop)


def _admission(runtime: Runtime, caller: Caller, body: ResponseRequest) -> ClientAdmission:
    conversation = client_conversation_with_model(runtime, caller, body.model, "input")
    messages, tools = body.conversation_messages(), body.client_tools()
    resumed = resume_client_turn(conversation, caller, messages)
    if resumed is not None:
        nothing = ClientTranscript(lines=())
        return ClientAdmission(conversation, caller, messages, nothing, resumed=resumed)
    transcript = messages.transcript()
    if body.previous_response_id is None:
        return ClientAdmission(conversation, caller, messages, transcript, tools=tools)
    after = _turn(runtime, caller, body.previous_response_id, _PREVIOUS, Verb.READ)
    if after.agent_id != conversation.agent.agent.id:
        raise Invalid(
            "the previous response is one of another agent",
            field=_PREVIOUS,
            cure="name its agent as the model, or omit previous_response_id",
        )
    transcript = conversation.transcript_after(after, transcript)
    return ClientAdmission(conversation, caller, messages, transcript, after, tools)


def _turn(runtime: Runtime, caller: Caller, response_id: str, field: str, verb: Verb) -> Turn:
    """Return the turn that a response is; raises NotFound unless the caller may see it."""
    turn_id, _ = _part_of_response(response_id)
    try:
        turn = runtime.home.journal.load(turn_id).turn
        require_access_to_turn(runtime.home, caller.principal, turn, verb)
    except NotFound:
        raise NotFound(
            f"there is no response {response_id[:80]!r}",
            field=field,
            cure="use the id of a response of this installation, which this key may see",
        ) from None
    return turn


def _part_of_response(response_id: str) -> tuple[str, int | None]:
    """Return the id of a response's turn, and the record after which it begins, if any."""
    # Without its beginning no id is one of a turn.
    if not response_id.startswith(RESPONSE_ID):
        return "", None
    turn_id, _, number = response_id.removeprefix(RESPONSE_ID).partition("_")
    if number and not (number.isascii() and number.isdecimal() and len(number) < _DIGITS):
        return "", None
    return turn_id, int(number) if number else None


def _unfilled_response(answer: CompletionAnswer, body: ResponseRequest) -> ResponseObject:
    return ResponseObject(
        id=f"{RESPONSE_ID}{answer.part_id}",
        created_at=answer.created,
        status="queued",
        background=bool(body.background),
        instructions=body.instructions,
        metadata=body.metadata or {},
        model=body.model,
        previous_response_id=body.previous_response_id,
    )


def _response_now(runtime: Runtime, caller: Caller, turn: Turn, response_id: str) -> ResponseObject:
    """Return a response without what only the request for it said, such as its metadata.

    Calls are for whoever has to run them, and for owners: as in the turn's story, nobody else who
    reads the session sees their arguments.
    """
    profile = runtime.home.agents.get(turn.agent_id)
    _, number = _part_of_response(response_id)
    since = None if number is None else find_client_calls(runtime, turn, number)
    language = caller.language_or(profile.agent.language)
    answer = CompletionAnswer.of(runtime, turn, language, since)
    answer.replies.read()
    asked = ResponseObject(
        id=f"{RESPONSE_ID}{answer.part_id}",
        created_at=answer.created,
        status="queued",
        model=profile.agent.name,
    )
    told = response_of_answer(answer, asked)
    if caller.is_owner or caller.principal.id == turn.principal_id:
        return told
    return told.replaced(
        output=tuple(item for item in told.output if not isinstance(item, ResponseFunctionCall))
    )
