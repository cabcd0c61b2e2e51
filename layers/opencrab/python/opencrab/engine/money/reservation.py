"""Reservation: the upper bound of a model call's cost, computed before the call."""

from opencrab.domain.errors import Invalid
from opencrab.domain.turn.record import ModelAnswer
from opencrab.domain.value import MicroUsd
from opencrab.ports.models.model import ChatMessage, ChatRequest, ModelInfo


def model_call_reservation(info: ModelInfo, request: ChatRequest, body: bytes) -> MicroUsd:
    """Return an upper bound of a call's cost; raise Invalid for an unknown price.

    No token is shorter than one byte of UTF-8. Images are counted as their vendor does; what the
    vendor itself adds to a request, or reasons beyond its limit, comes on top.
    """
    if info.price is None:
        raise Invalid(
            f"the price of model {info.name!r} is unknown, so it may not be used",
            cure=f"set llm.providers.{info.provider}.usd_per_million, or choose another model",
        )
    return info.price.reservation(
        request_tokens=_most_request_tokens(info, request, body),
        max_output_tokens=request.max_output_tokens + info.hidden_output_tokens,
    )


def cost_of_interrupted_call(
    info: ModelInfo, request: ChatRequest, body: bytes, answer: ModelAnswer
) -> MicroUsd:
    """Return a bound of the cost of a call that was ended early.

    The request counts as in the reservation, unless the vendor has counted it, and the answer as
    many tokens as it has bytes so far (`ChatModel.chat`).
    """
    usage, price = answer.usage, info.price
    if price is None:
        return 0
    return price.reservation(
        request_tokens=usage.input_tokens or _most_request_tokens(info, request, body),
        max_output_tokens=usage.output_tokens,
    )


def _most_request_tokens(info: ModelInfo, request: ChatRequest, body: bytes) -> int:
    images = [
        image for turn in request.turns if isinstance(turn, ChatMessage) for image in turn.images
    ]
    # Bytes, not an estimate: no tokenizer makes more tokens than bytes, so the bill cannot be
    # higher.
    words = len(body) - sum(len(image.data) for image in images)
    return words + len(images) * info.image_tokens + info.hidden_tokens
