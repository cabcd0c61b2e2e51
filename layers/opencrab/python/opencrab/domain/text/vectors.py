"""Meaning: vectors kept small, how near two of them are, and what nearness counts beside words."""

import math
import struct
from collections.abc import Mapping, Sequence
from operator import mul
from typing import NamedTuple

MOST_NEAR = 200
"""The number of nearest rows whose similarity is computed exactly."""

WEIGHT = 0.7
"""The score of the nearest row if the best row by words has 1. Words weigh more: they are exact for
names and numbers."""

_STEPS = 127
_LENGTH = struct.Struct("<f")


class QuantizedVector(NamedTuple):
    """A vector in small numbers: the signs of its components, and the components in 255 steps.

    `bits` allow a cheap first selection of near vectors. `body` begins with the vector's length.
    """

    bits: bytes
    body: bytes

    @property
    def dimensions(self) -> int:
        """The number of components."""
        return len(self.body) - _LENGTH.size


def quantize_text_vector(vector: Sequence[float]) -> QuantizedVector:
    """Quantize a vector to a byte and a bit per component; its length does not matter.

    A vector without a direction, such as one that is all zeros, is similar to none.
    """
    most = max(map(abs, vector), default=0.0)
    if not 0 < most < math.inf:
        vector, most = [0.0] * len(vector), 1.0
    steps = [round(part / most * _STEPS) for part in vector]
    signs = "".join("1" if part > 0 else "0" for part in vector)
    bits = int(signs or "0", 2).to_bytes((len(signs) + 7) // 8, "big")
    length = math.sqrt(sum(map(mul, steps, steps)))
    return QuantizedVector(bits, _LENGTH.pack(length) + struct.pack(f"{len(steps)}b", *steps))


def cosine_similarity_of_text_vectors(one: bytes, other: bytes) -> float:
    """Compute the cosine similarity of two bodies: 1 for the same direction, 0 if orthogonal.

    Also 0 if their dimensions differ, as vectors of different models cannot be compared.
    """
    lengths = _LENGTH.unpack_from(one)[0] * _LENGTH.unpack_from(other)[0]
    if not lengths or len(one) != len(other):
        return 0.0
    mine, theirs = (memoryview(each)[_LENGTH.size :].cast("b") for each in (one, other))
    return float(sum(map(mul, mine, theirs)) / lengths)


def fuse_text_search_scores(
    words: Mapping[int, float], near: Mapping[int, float]
) -> dict[int, float]:
    """Combine scores by words and cosines into one score for each row; zeros are left out.

    Both are divided by their best, so that the best row of one method stays ahead of a row that is
    only fairly high in both.
    """
    best = max(words.values(), default=0.0) or 1.0
    nearest = max(near.values(), default=0.0)
    scores = {row: score / best for row, score in words.items()}
    for row, likeness in near.items():
        if likeness > 0:
            scores[row] = scores.get(row, 0.0) + WEIGHT * (likeness / nearest)
    return {row: score for row, score in scores.items() if score > 0}
