"""Embeddings of OpenAI-shaped servers: vectors as numbers, or as base64 of small floats."""

import binascii
import math
import struct
from base64 import b64decode
from typing import Any

from opencrab.adapters.providers.openai.error import openai_error_within
from opencrab.adapters.providers.wire.lenient import as_wire_label, wire_dict, wire_list
from opencrab.adapters.providers.wire.wire import ErrorParty
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.money.budget import Usage
from opencrab.ports.models.model import Embeddings

_FLOAT_BYTES = 4


def openai_embedding_request(model: str, texts: tuple[str, ...]) -> dict[str, Any]:
    """Build the request body; an empty text, which servers reject, becomes a space."""
    return {"model": model, "input": [text or " " for text in texts], "encoding_format": "float"}


def openai_embedding_answer(body: Any, number: int, party: ErrorParty, usage: Usage) -> Embeddings:
    """Return one vector per text, in order; raise ModelCallFailed otherwise."""
    if error := wire_dict(body).get("error"):
        raise openai_error_within(error, party, usage=usage)
    entries = [wire_dict(entry) for entry in wire_list(wire_dict(body).get("data"))]
    placed = {_place(entry, n): _vector(entry.get("embedding")) for n, entry in enumerate(entries)}
    vectors = tuple(placed.get(n, ()) for n in range(number))
    lengths = {len(vector) for vector in vectors}
    if len(entries) != number or 0 in lengths or len(lengths) > 1:
        raise ModelCallFailed(
            f"{party.provider} did not return one embedding per text, all of the same dimension: "
            f"{len(entries)} came for {number} texts",
            Fault.NONSENSE,
            usage=usage if usage.is_counted else None,
        )
    return Embeddings(vectors, usage, as_wire_label(wire_dict(body).get("model")) or party.model)


def _place(entry: dict[str, Any], otherwise: int) -> int:
    index = entry.get("index")
    return index if isinstance(index, int) else otherwise


def _vector(embedding: Any) -> tuple[float, ...]:
    """Return a vector from numbers or base64 floats; empty if it is malformed."""
    if isinstance(embedding, str):
        return _finite(_decode_floats(embedding))
    numbers = wire_list(embedding)
    if any(isinstance(number, bool) or not isinstance(number, int | float) for number in numbers):
        return ()
    try:
        return _finite(tuple(float(number) for number in numbers))
    except OverflowError:
        return ()


def _decode_floats(text: str) -> tuple[float, ...]:
    try:
        data = b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return ()
    size, rest = divmod(len(data), _FLOAT_BYTES)
    return () if rest else struct.unpack(f"<{size}f", data)


def _finite(vector: tuple[float, ...]) -> tuple[float, ...]:
    return vector if all(math.isfinite(number) for number in vector) else ()
