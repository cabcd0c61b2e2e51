"""Responses as OpenAI's clients read them.

Source of the format: OpenAI's API reference, "Responses".
"""

from typing import Any, Literal

from pydantic import Field

from opencrab.domain.turn.turn import TurnStatus
from opencrab.domain.value import Value
from opencrab.gateways.rest.http.problem_form import http_problem_in
from opencrab.gateways.rest.openai.answer import CompletionAnswer
from opencrab.gateways.rest.openai.errors import openai_error_of_problem
from opencrab.gateways.rest.openai.tool_calls import ToolCall

RESPONSE_ID = "resp_"
"""How the id of a response begins; that of its turn follows."""

ResponseStatus = Literal["queued", "in_progress", "completed", "failed", "cancelled"]
_UNSETTLED: dict[TurnStatus, ResponseStatus] = {
    TurnStatus.QUEUED: "queued",
    TurnStatus.RUNNING: "in_progress",
}


class ResponseText(Value):
    """The words of a message."""

    type: Literal["output_text"] = "output_text"
    text: str
    annotations: tuple[()] = ()
    logprobs: tuple[()] = ()


class ResponseMessage(Value):
    """The message that a response consists of."""

    id: str
    type: Literal["message"] = "message"
    role: Literal["assistant"] = "assistant"
    status: Literal["in_progress", "completed"] = "completed"
    content: tuple[ResponseText, ...] = ()


class ResponseFunctionCall(Value):
    """A call that the client has to run; `call_id` is what its result names."""

    id: str
    type: Literal["function_call"] = "function_call"
    status: Literal["in_progress", "completed"] = "completed"
    call_id: str
    name: str
    arguments: str

    @classmethod
    def of(cls, call: ToolCall) -> "ResponseFunctionCall":
        """Return a call as an item of a response."""
        return cls(
            id=f"fc_{call.id.removeprefix('call_')}",
            call_id=call.id,
            name=call.function.name,
            arguments=call.function.arguments,
        )


class ResponseUsage(Value):
    """Tokens of all model calls of a turn; agents think in several."""

    input_tokens: int
    input_tokens_details: dict[str, int]
    output_tokens: int
    output_tokens_details: dict[str, int]
    total_tokens: int


class ResponseObject(Value):
    """A turn of an agent, as a response; what an agent decides itself has OpenAI's defaults."""

    id: str
    object: Literal["response"] = "response"
    created_at: int
    status: ResponseStatus
    background: bool = False
    error: dict[str, str] | None = None
    incomplete_details: None = None
    instructions: str | None = None
    max_output_tokens: None = None
    metadata: dict[str, str] = Field(default_factory=dict)
    model: str
    output: tuple[ResponseMessage | ResponseFunctionCall, ...] = ()
    parallel_tool_calls: bool = True
    previous_response_id: str | None = None
    store: bool = True
    temperature: float = 1.0
    text: dict[str, Any] = Field(default_factory=lambda: {"format": {"type": "text"}})
    tool_choice: Literal["auto"] = "auto"
    tools: tuple[()] = ()
    top_p: float = 1.0
    truncation: Literal["disabled"] = "disabled"
    usage: ResponseUsage | None = Field(default=None, exclude_if=lambda usage: usage is None)


def response_message_id(answer: CompletionAnswer) -> str:
    """Return the id of the message that a response consists of."""
    return f"msg_{answer.part_id}"


def response_as_begun(answer: CompletionAnswer, asked: ResponseObject) -> ResponseObject:
    """Return a response of which nothing was said yet."""
    return asked.replaced(status=_UNSETTLED.get(answer.turn.status, "in_progress"))


def response_of_answer(answer: CompletionAnswer, asked: ResponseObject) -> ResponseObject:
    """Return a response as its turn is now, with what the request for it said in `asked`."""
    turn = answer.turn
    if not answer.is_settled:
        return response_as_begun(answer, asked)
    error = answer.error()
    usage = answer.usage()
    ended = asked.replaced(
        status="completed",
        usage=ResponseUsage(
            input_tokens=usage.prompt_tokens,
            input_tokens_details=usage.prompt_tokens_details,
            output_tokens=usage.completion_tokens,
            output_tokens_details=usage.completion_tokens_details,
            total_tokens=usage.total_tokens,
        ),
    )
    if turn.status is TurnStatus.STOPPED:
        return ended.replaced(status="cancelled")
    if error is not None:
        told = openai_error_of_problem(http_problem_in(answer.language, error))["error"]
        kind = "rate_limit_exceeded" if told["type"] == "insufficient_quota" else "server_error"
        return ended.replaced(status="failed", error={"code": kind, "message": told["message"]})
    calls = tuple(map(ResponseFunctionCall.of, answer.tool_calls()))
    text = answer.text
    said = ResponseMessage(id=response_message_id(answer), content=(ResponseText(text=text),))
    return ended.replaced(output=(said, *calls) if text or not calls else calls)
