"""Vectors made small stay as near to each other as they were; scores are fused as shares."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from opencrab.domain.text.vectors import WEIGHT, fuse_text_search_scores, quantize_text_vector
from opencrab.domain.text.vectors import cosine_similarity_of_text_vectors as kept_cosine
from tests.meaning import cosine, vector

SIZE = 32
PARTS = st.floats(-1, 1, allow_nan=False, width=32)
VECTORS = st.lists(PARTS, min_size=SIZE, max_size=SIZE)
SCORES = st.dictionaries(st.integers(1, 9), st.floats(0, 100, allow_nan=False), max_size=6)


@given(VECTORS, VECTORS)
def test_a_compact_vector_is_as_near_to_others_as_it_was(
    one: list[float], other: list[float]
) -> None:
    assume(min(max(map(abs, one)), max(map(abs, other))) > 1e-3)
    kept = kept_cosine(quantize_text_vector(one).body, quantize_text_vector(other).body)
    # A part is off by half of one of 127 steps; so is each of the two, in each of 32 parts.
    assert abs(kept - cosine(one, other)) <= math.sqrt(SIZE) / 127 + 1e-6


@given(VECTORS, st.floats(1e-6, 1e6))
def test_only_the_direction_of_a_vector_is_kept(one: list[float], factor: float) -> None:
    assume(all(part == 0 or abs(part) > 1e-6 for part in one))
    longer = quantize_text_vector([part * factor for part in one])
    assert longer.bits == quantize_text_vector(one).bits
    assert abs(kept_cosine(longer.body, quantize_text_vector(one).body) - float(any(one))) < 0.02


@given(VECTORS)
def test_bits_are_the_signs_and_a_body_has_a_byte_for_each_part(one: list[float]) -> None:
    small = quantize_text_vector(one)
    signs = f"{int.from_bytes(small.bits, 'big'):0{SIZE}b}"
    assert small.dimensions == SIZE == len(small.body) - 4
    assert signs == "".join("1" if part > 0 else "0" for part in one)


@pytest.mark.parametrize(
    "one", [(), (0.0, 0.0), (math.inf, 1.0), (5e-324, 0.0), (1e308, 1e308)], ids=str
)
def test_no_vector_is_too_strange_to_be_kept(one: tuple[float, ...]) -> None:
    small = quantize_text_vector(one)
    assert 0 <= kept_cosine(small.body, small.body) <= 1 + 1e-6


def test_vectors_of_different_models_are_not_near() -> None:
    assert kept_cosine(quantize_text_vector([1.0, 1.0]).body, quantize_text_vector([1.0]).body) == 0


def test_the_same_meaning_is_near_in_either_language() -> None:
    asked = quantize_text_vector(vector("わんこの話")).body
    near = kept_cosine(asked, quantize_text_vector(vector("a puppy came")).body)
    far = kept_cosine(asked, quantize_text_vector(vector("the price of tea")).body)
    assert near > far + 0.3


@given(SCORES, SCORES)
def test_a_fused_score_is_the_sum_of_both_shares(
    words: dict[int, float], near: dict[int, float]
) -> None:
    found = fuse_text_search_scores(words, near)
    for row in {*words, *near}:
        share = words.get(row, 0) / (max(words.values(), default=0) or 1)
        nearness = near.get(row, 0) / (max(near.values(), default=0) or 1)
        assert math.isclose(found.get(row, 0), share + WEIGHT * nearness, abs_tol=1e-9)
    assert all(0 < score <= 1 + WEIGHT + 1e-9 for score in found.values())


def test_what_points_away_is_not_found() -> None:
    assert fuse_text_search_scores({}, {1: -0.5, 2: 0.25}) == {2: WEIGHT}
