"""Chat completions: clients of OpenAI's API talk to agents, which they take for models.

Such a client keeps the conversation and sends all of it each time; the session that it continues is
found by its words (`engine/conversation/client_conversation`).
"""

from functools import partial

from fastapi import Response
from fastapi.concurrency import run_in_threadpool
from pydantic import ValidationError

from opencrab.domain.conversation.attachment import message_attachment_picture_type
from opencrab.domain.conversation.message import ImagePart, Message, Sender, TextPart
from opencrab.domain.conversation.session import Session
from opencrab.domain.errors import Invalid
from opencrab.domain.identifier import stable_id
from opencrab.domain.turn.turn import Turn
from opencrab.domain.value import MESSAGE_BYTES
from opencrab.engine.conversation.client_conversation import ClientConversation
from opencrab.engine.conversation.uploads import store_session_upload
from opencrab.engine.runtime import Runtime
from opencrab.gateways.rest.conversation.replies import Replies
from opencrab.gateways.rest.http.access import Caller, Talker
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api
from opencrab.gateways.rest.http.event_stream import http_event_stream_response
from opencrab.gateways.rest.http.idempotency import Repeatable
from opencrab.gateways.rest.openai.answer import (
    ANSWER_SECONDS,
    CompletionAnswer,
    wait_for_chat_completion,
)
from opencrab.gateways.rest.openai.messages import (
    ChatChoice,
    ChatCompletion,
    ChatCompletionRequest,
    ChatReply,
)
from opencrab.gateways.rest.openai.models import find_agent_as_model
from opencrab.gateways.rest.openai.stream import CompletionStream

SESSION_HEADER, TURN_HEADER = "X-OpenCrab-Session", "X-OpenCrab-Turn"

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

    The conversation is recognized by its words, so the agent goes on in the same session. The same
    request sent again while it is answered waits for the same answer; with an Idempotency-Key it
    is always the same.
    """
    body.require_supported()
    conversations = await run_in_threadpool(_conversations, api.runtime, caller, body.model)
    admit = partial(_admit, conversations, caller, once.key, body)
    turns = await run_in_threadpool(admit)
    language = conversations.agent.agent.language
    answer = CompletionAnswer(api.runtime, Replies(api.runtime.home.journal, turns), language)
    headers = {SESSION_HEADER: turns[0].session_id, TURN_HEADER: turns[0].id}
    usage = body.stream_options is not None and body.stream_options.include_usage
    stream = CompletionStream(answer, body.model, usage=usage)
    if body.stream and api.longest_seconds is None:
        response: Response = http_event_stream_response(stream.events(api.watch, ANSWER_SECONDS))
    else:
        await wait_for_chat_completion(api, answer)
        if not answer.is_settled:
            await run_in_threadpool(conversations.expect_repeat, body.transcript())
        if body.stream:
            # Lambda sends an answer when it is complete, so its words come all at once.
            await run_in_threadpool(answer.require_answered)
            response = http_event_stream_response(stream.events_of_complete_answer())
        else:
            completion = await run_in_threadpool(_completion, answer, body.model)
            response = Response(completion.model_dump_json(), media_type="application/json")
    response.headers.update(headers)
    return response


def _conversations(runtime: Runtime, caller: Caller, model: str) -> ClientConversation:
    profile = find_agent_as_model(runtime.home.agents, caller.principal, model)
    return ClientConversation(runtime, caller.principal.id, caller.source, profile)


def _admit(
    conversations: ClientConversation,
    caller: Caller,
    key: str | None,
    body: ChatCompletionRequest,
) -> tuple[Turn, ...]:
    transcript, pictures = body.transcript(), body.pictures()

    def message_of(session: Session, source_id: str, text: str) -> Message:
        shown = tuple(
            _picture_part(conversations.runtime, caller, session, f"{source_id}-{place}", content)
            for place, content in enumerate(pictures)
        )
        who = caller.principal
        try:
            return Message(
                source=caller.source,
                source_id=source_id,
                principal_id=who.id,
                sender=Sender(id=who.id, name=body.user or who.name),
                authority=caller.authority,
                parts=(*((TextPart(text=text),) if text.strip() else ()), *shown),
            )
        except ValidationError as error:
            raise Invalid(
                "the messages since the last answer exceed the limit of one message",
                field="messages",
                cure=f"send at most {MESSAGE_BYTES} bytes of text in all",
            ) from error

    return conversations.admit(transcript, message_of, key=key)


def _picture_part(
    runtime: Runtime, caller: Caller, session: Session, name: str, content: bytes
) -> ImagePart:
    # What is no picture is refused by its name, which claims that it is one.
    media_type = message_attachment_picture_type(content) or "image/png"
    file_name = f"picture.{media_type.partition('/')[2]}"
    upload_id = stable_id("upload", name)
    stored = store_session_upload(
        runtime, session, upload_id, file_name, content, by=caller.principal
    )
    return ImagePart(reference=stored.reference)


def _completion(answer: CompletionAnswer, model: str) -> ChatCompletion:
    answer.require_answered()
    return ChatCompletion(
        id=answer.completion_id,
        created=answer.created,
        model=model,
        choices=(ChatChoice(message=ChatReply(content=answer.text)),),
        usage=answer.usage(),
    )
