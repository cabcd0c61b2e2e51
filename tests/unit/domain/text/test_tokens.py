"""Tokens are estimated on the safe side, in Japanese and English."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.text.tokens import ASCII_PER_TOKEN, OTHER_TOKENS, estimated_tokens

kana = st.characters(min_codepoint=0x3041, max_codepoint=0x30FE)
kanji = st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF)
ascii_letters = st.characters(min_codepoint=0x20, max_codepoint=0x7E)
mixed = st.text(kana | kanji | ascii_letters, max_size=200)


@given(text=st.text(kana | kanji, max_size=300))
def test_kana_and_kanji_are_never_under_their_measured_rate(text: str) -> None:
    assert estimated_tokens(text) >= OTHER_TOKENS * len(text) - 1e-6
    assert estimated_tokens(text) <= math.ceil(OTHER_TOKENS * len(text) + 1e-6)


@given(text=mixed)
def test_a_mixed_text_is_the_sum_of_its_parts(text: str) -> None:
    plain = sum(character.isascii() for character in text)
    exact = plain / ASCII_PER_TOKEN + (len(text) - plain) * OTHER_TOKENS
    assert exact - 1e-6 <= estimated_tokens(text) < exact + 1 + 1e-6


@given(one=mixed, other=mixed)
def test_more_text_never_takes_fewer_tokens(one: str, other: str) -> None:
    assert estimated_tokens(one) <= estimated_tokens(one + other)
    assert estimated_tokens(one + other) <= estimated_tokens(one) + estimated_tokens(other)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("a", 1), ("hello, crab", 4), ("海", 2), ("こんにちは、蟹", 8), ("x" * 3_500, 1_000)],
)
def test_examples_of_estimates(text: str, tokens: int) -> None:
    assert estimated_tokens(text) == tokens


@given(text=st.text(max_size=50))
def test_no_text_is_too_strange_to_estimate(text: str) -> None:
    assert estimated_tokens(text) >= (1 if text else 0)
    assert estimated_tokens(text + "\ud83e") >= 1
