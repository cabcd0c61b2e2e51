"""Meaning: vectors kept small, how near two of them are, and what nearness counts beside words."""

import math
import struct
from collections.abc import Mapping, Sequence
from operator import mul
from typing import NamedTuple

MOST_NEAR = 200
"""How many of the nearest rows are looked at closely."""

WEIGHT = 0.7
"""What the nearest row gets where the best by words gets 1. Words lead: they are never wrong about
names and numbers."""

_STEPS = 127
_LENGTH = struct.Struct("<f")


class QuantizedVector(NamedTuple):
    """A vector of small numbers: the signs of its parts, and the parts in 255 steps.

    `bits` tell cheaply which vectors may be near. `body` begins with the length of its steps.
    """

    bits: bytes
    body: bytes

    @property
    def dimensions(self) -> int:
        """How many parts it has."""
        return len(self.body) - _LENGTH.size


def quantize_vector(vector: Sequence[float]) -> QuantizedVector:
    """A vector in a byte and a bit for each part; its length does not matter.

    A vector without a direction, such as one that is all zeros, is near nothing.
    """
    most = max(map(abs, vector), default=0.0)
    if not 0 < most < math.inf:
        vector, most = [0.0] * len(vector), 1.0
    steps = [round(part / most * _STEPS) for part in vector]
    signs = "".join("1" if part > 0 else "0" for part in vector)
    bits = int(signs or "0", 2).to_bytes((len(signs) + 7) // 8, "big")
    length = math.sqrt(sum(map(mul, steps, steps)))
    return QuantizedVector(bits, _LENGTH.pack(length) + struct.pack(f"{len(steps)}b", *steps))


def cosine_similarity(one: bytes, other: bytes) -> float:
    """How near two bodies are: 1 for the same direction, 0 for nothing in common.

    0 too where they cannot be compared, as they were made by different models.
    """
    lengths = _LENGTH.unpack_from(one)[0] * _LENGTH.unpack_from(other)[0]
    if not lengths or len(one) != len(other):
        return 0.0
    mine, theirs = (memoryview(each)[_LENGTH.size :].cast("b") for each in (one, other))
    return float(sum(map(mul, mine, theirs)) / lengths)


def fuse_search_scores(words: Mapping[int, float], near: Mapping[int, float]) -> dict[int, float]:
    """Scores by words and cosines as one score for each row, 0 left out.

    Both are shares of their best: what fits best by one of them stays ahead of what is only listed
    high by both.
    """
    best = max(words.values(), default=0.0) or 1.0
    nearest = max(near.values(), default=0.0)
    scores = {row: score / best for row, score in words.items()}
    for row, likeness in near.items():
        if likeness > 0:
            scores[row] = scores.get(row, 0.0) + WEIGHT * (likeness / nearest)
    return {row: score for row, score in scores.items() if score > 0}
