"""Question: what a model is asked by a turn that answers nobody: one message, and no actions."""

from opencrab.domain.errors import Invalid
from opencrab.domain.models.routing import CallOptions
from opencrab.domain.text.terms import estimated_tokens
from opencrab.engine.turn.prompt.request import model_input_token_limit
from opencrab.engine.turn.work import TurnWork
from opencrab.ports.models.model import ChatMessage, ChatRequest, ModelInfo


def single_question_request(
    work: TurnWork, info: ModelInfo, manner: CallOptions, *, system: str, question: str, output: int
) -> ChatRequest:
    """The request for an answer of so many tokens; raises Invalid where the model takes less."""
    most, needed = model_input_token_limit(info, output), estimated_tokens(system + question)
    if needed > most:
        raise Invalid(
            f"model {info.name!r} accepts {most} tokens; this request needs about {needed}",
            cure="choose a model with a larger input limit for `analysis`",
        )
    return ChatRequest(
        model=info.name.partition(":")[2],
        actions=(),
        system=system,
        turns=(ChatMessage("user", question),),
        max_output_tokens=output,
        temperature=manner.temperature if info.temperature else None,
        stop=manner.stop,
        timeout_seconds=min(manner.timeout_seconds, work.runtime.rules.model_timeout_seconds),
    )
