"""Chat completions: clients of OpenAI's API talk to agents, which they take for models.

Such a client keeps the conversation and sends all of it each time; the session that it continues is
found by its words (`engine/conversation/client_conversation`).
"""

from fastapi import Response
from fastapi.concurrency import run_in_threadpool

from opencrab.domain.conversation.client_transcript import ClientTranscript
from opencrab.engine.runtime import Runtime
from opencrab.gateways.rest.http.access import Caller, Talker
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
from opencrab.gateways.rest.openai.messages import (
    ChatChoice,
    ChatCompletion,
    ChatCompletionRequest,
    ChatReply,
)
from opencrab.gateways.rest.openai.stream import CompletionStream

router = http_routes_below("/v1/chat/completions", "openai")


@router.post(
    "",
    response_model=ChatCompletion,
    operation_id="create_chat_completion",
    responses={
        200: {
            "description": "The answer; with `stream` as server-sent events, `[DONE]` at the end",
            "content": {"text/event-stream": {"schema": {"type": "string"}}},
        }
    },
)
async def answer_chat_completion(
    api: Api, caller: Talker, once: Repeatable, body: Strict[ChatCompletionRequest]
) -> Response:
    """Talk to an agent as clients of OpenAI's API talk to a model.

    The client runs `tools` itself, and sends their results for the agent to go on. The conversation
    is recognized by its words, so the agent goes on in the same session. The same
    request sent again while it is answered waits for the same answer; with an Idempotency-Key it
    is always the same.
    """
    body.require_supported()
    admission = await run_in_threadpool(_admission, api.runtime, caller, body)
    turn = await run_in_threadpool(admission.admit, once.key)
    answer = admission.answer(turn)
    usage = body.stream_options is not None and body.stream_options.include_usage
    stream = CompletionStream(answer, body.model, usage=usage)
    if body.stream and api.longest_seconds is None:
        response: Response = http_event_stream_response(
            stream.events(api.watch, ANSWER_SECONDS, caller.key_hash)
        )
    else:
        await admission.wait_for_answer(api, answer)
        if body.stream:
            # Lambda sends an answer when it is complete, so its words come all at once.
            await run_in_threadpool(answer.require_answered)
            response = http_event_stream_response(stream.events_of_complete_answer())
        else:
            completion = await run_in_threadpool(_completion, answer, body.model)
            response = Response(completion.model_dump_json(), media_type="application/json")
    response.headers.update(answer.headers())
    return response


def _admission(runtime: Runtime, caller: Caller, body: ChatCompletionRequest) -> ClientAdmission:
    conversation = client_conversation_with_model(runtime, caller, body.model, "messages")
    messages, tools = body.conversation(), body.client_tools()
    resumed = resume_client_turn(conversation, caller, messages)
    if resumed is not None:
        nothing = ClientTranscript(lines=())
        return ClientAdmission(conversation, caller, messages, nothing, resumed=resumed)
    transcript = messages.transcript()
    return ClientAdmission(conversation, caller, messages, transcript, tools=tools)


def _completion(answer: CompletionAnswer, model: str) -> ChatCompletion:
    answer.require_answered()
    calls, text = answer.tool_calls(), answer.text
    reply = ChatReply(content=text or None if calls else text, tool_calls=calls)
    choice = ChatChoice(message=reply, finish_reason="tool_calls" if calls else "stop")
    return ChatCompletion(
        id=answer.completion_id,
        created=answer.created,
        model=model,
        choices=(choice,),
        usage=answer.usage(),
    )
