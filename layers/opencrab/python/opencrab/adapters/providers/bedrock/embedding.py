"""Embeddings of Amazon Titan, whose InvokeModel takes one text at a time."""

import math
from typing import Any

from opencrab.adapters.providers.wire.lenient import wire_dict, wire_list, wire_token_count
from opencrab.adapters.providers.wire.wire import ErrorParty
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.money.budget import Usage
from opencrab.ports.models.model import Embeddings

TITAN = "amazon.titan-embed-text"
"""How the models begin whose embeddings are supported."""


def titan_embedding_request(text: str) -> dict[str, Any]:
    """Build the request body; an empty text, which Titan rejects, becomes a space."""
    return {"inputText": text or " "}


def titan_embedding_answer(body: Any, party: ErrorParty) -> Embeddings:
    """Return the vector of one text; raise ModelCallFailed without one."""
    fields = wire_dict(body)
    usage = Usage(input_tokens=wire_token_count(fields.get("inputTextTokenCount")))
    numbers = wire_list(fields.get("embedding"))
    if not numbers or not all(map(_is_finite, numbers)):
        raise ModelCallFailed(
            f"{party.provider} did not return an embedding",
            Fault.NONSENSE,
            usage=usage if usage.is_counted else None,
        )
    return Embeddings((tuple(map(float, numbers)),), usage, party.model)


def _is_finite(number: Any) -> bool:
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    return is_number and math.isfinite(number)
