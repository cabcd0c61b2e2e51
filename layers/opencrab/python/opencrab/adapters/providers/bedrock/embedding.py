"""Embeddings of Amazon Titan, one text at a time, and of Cohere, both over InvokeModel."""

import math
import re
from collections.abc import Mapping
from typing import Any, Literal

from opencrab.adapters.providers.wire.lenient import wire_dict, wire_list, wire_token_count
from opencrab.adapters.providers.wire.wire import ErrorParty
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.money.budget import Usage
from opencrab.ports.models.model import Embeddings

InputType = Literal["search_document", "search_query"]

COHERE_TEXTS = 96
"""The most texts that Cohere's models take in one request."""

_TITAN = "amazon.titan-embed-text"
_COHERE = re.compile(r"(?:[a-z-]+\.)?cohere\.embed-")
_COHERE_V3 = re.compile(r"-v3(?::|$)")
_V3_CHARACTERS = 2_048
"""The most characters of a text for Cohere's models of version 3, which reject a longer one."""

_COUNT = "x-amzn-bedrock-input-token-count"


def is_embedding_model(model: str) -> bool:
    """Check whether the embeddings of a model ID or inference profile are supported."""
    return model.startswith(_TITAN) or is_cohere_embedding_model(model)


def is_cohere_embedding_model(model: str) -> bool:
    """Check whether a model ID or inference profile is one of Cohere's for embeddings."""
    return _COHERE.match(model) is not None


def titan_embedding_request(text: str) -> dict[str, Any]:
    """Build the request body; an empty text, which Titan rejects, becomes a space."""
    return {"inputText": text or " "}


def titan_embedding_answer(body: Any, party: ErrorParty) -> Embeddings:
    """Return the vector of one text; raise ModelCallFailed without one."""
    fields = wire_dict(body)
    usage = Usage(input_tokens=wire_token_count(fields.get("inputTextTokenCount")))
    return _embeddings([fields.get("embedding")], 1, usage, party)


def cohere_embedding_request(
    model: str, texts: tuple[str, ...], input_type: InputType
) -> dict[str, Any]:
    """Build the request body; what is too long loses its end, as in the model's own limit."""
    is_v3 = _COHERE_V3.search(model) is not None
    longest = _V3_CHARACTERS if is_v3 else None
    return {
        "texts": [text[:longest] or " " for text in texts],
        "input_type": input_type,
        "truncate": "END" if is_v3 else "RIGHT",
        "embedding_types": ["float"],
    }


def cohere_embedding_answer(body: Any, count: int, party: ErrorParty) -> Embeddings:
    """Return the vectors of so many texts; raise ModelCallFailed without one of them."""
    fields = wire_dict(body)
    given = fields.get("embeddings")
    rows = wire_list(given.get("float") if isinstance(given, dict) else given)
    billed = wire_dict(wire_dict(fields.get("meta")).get("billed_units"))
    usage = Usage(input_tokens=wire_token_count(billed.get("input_tokens")))
    return _embeddings(rows, count, usage, party)


def bedrock_embedding_usage(headers: Mapping[str, str]) -> Usage:
    """Return the tokens that Bedrock counted, by its header; empty if it names none."""
    counted = headers.get(_COUNT, "")
    return Usage(input_tokens=int(counted) if counted.isdecimal() else 0)


def _embeddings(rows: list[Any], count: int, usage: Usage, party: ErrorParty) -> Embeddings:
    vectors = [wire_list(row) for row in rows]
    if len(vectors) != count or not all(row and all(map(_is_finite, row)) for row in vectors):
        raise ModelCallFailed(
            f"{party.provider} did not return an embedding for each text",
            Fault.NONSENSE,
            usage=usage if usage.is_counted else None,
        )
    return Embeddings(tuple(tuple(map(float, row)) for row in vectors), usage, party.model)


def _is_finite(number: Any) -> bool:
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    return is_number and math.isfinite(number)
