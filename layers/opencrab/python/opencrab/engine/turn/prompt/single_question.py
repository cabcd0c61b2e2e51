"""Question: the request of a background turn, one message without actions."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from opencrab.domain.errors import Invalid
from opencrab.domain.models.routing import CallOptions
from opencrab.engine.models.router import sampling_of_call
from opencrab.engine.turn.prompt.request import prompt_input_token_limit
from opencrab.engine.turn.work import TurnWork
from opencrab.ports.models.model import (
    ChatRequest,
    ModelInfo,
    PromptText,
    estimated_tokens,
    labelled_message,
    labelled_request,
)


def single_question_prompt_request(
    work: TurnWork,
    info: ModelInfo,
    manner: CallOptions,
    *,
    system: PromptText,
    question: PromptText,
    output: int,
    answer_schema: Mapping[str, Any] | None = None,
) -> ChatRequest:
    """Return the request for an answer of `output` tokens, in the form of a JSON Schema if given.

    Raises Invalid if it is too long.
    """
    most, needed = prompt_input_token_limit(info, output), estimated_tokens(system + question)
    if needed > most:
        raise Invalid(
            f"model {info.name!r} accepts {most} tokens; this request needs about {needed}",
            cure="choose a model with a larger input limit for `analysis`",
        )
    request = labelled_request(
        model=info.name.partition(":")[2],
        actions=(),
        system=system,
        turns=(labelled_message("user", question),),
        max_output_tokens=output,
        stop=manner.stop,
        timeout_seconds=min(manner.timeout_seconds, work.runtime.rules.model_timeout_seconds),
        **sampling_of_call(info, manner),
    )
    return replace(request, answer_schema=answer_schema)
