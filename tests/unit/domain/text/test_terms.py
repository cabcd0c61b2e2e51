"""What a text can be found by, in Japanese, English and others."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.text.terms import index_terms_of_text, share_of_terms_in_text, text_terms
from opencrab.ports.models.model import ASCII_PER_TOKEN, OTHER_TOKENS, estimated_tokens


def test_words_are_whole_and_characters_go_in_pairs() -> None:
    assert text_terms("Green tea, 2 cups") == {"green", "tea", "2", "cups"}
    assert text_terms("機械学習") == {"機械", "械学", "学習"}
    assert text_terms("AIで調べる") == {"ai", "で調", "調べ", "べる"}
    assert text_terms("海") == {"海"}
    assert text_terms("ws_read") == {"ws", "read"}
    assert text_terms("コーヒー・紅茶") == {"コー", "ーヒ", "ヒー", "紅茶"}
    assert text_terms("、。!? \n_") == frozenset()


def test_width_case_and_composition_make_no_difference() -> None:
    assert text_terms("\uff34\uff25\uff21 ｺｰﾋｰ ガ") == text_terms("tea コーヒー カ\u3099")
    assert text_terms("STRASSE") == text_terms("straße")


def test_the_share_is_that_of_the_terms_sought() -> None:
    sought = text_terms("緑茶 tea")
    assert share_of_terms_in_text(sought, "緑茶を飲む") == 0.5
    assert share_of_terms_in_text(sought, "緑茶 is tea") == 1.0
    assert share_of_terms_in_text(sought, "teas") == 0.0
    assert share_of_terms_in_text(text_terms(""), "x") == 0.0
    assert share_of_terms_in_text(text_terms("海"), "海岸で") == 1.0


@given(st.text(), st.text())
def test_a_text_that_holds_another_shares_all_its_pairs(query: str, around: str) -> None:
    found = share_of_terms_in_text(text_terms(query), f"{around} {query} {around}")
    assert found == (1.0 if text_terms(query) else 0.0)


def test_an_index_keeps_words_pairs_and_every_kanji_in_order() -> None:
    pairs = ("で機", "機械", "械学", "学習")
    assert index_terms_of_text("AIで機械学習、AI") == ("ai", *pairs, *"機械学習", "ai")
    assert (
        index_terms_of_text("ｺｰﾋｰ") == index_terms_of_text("コーヒー") == ("コー", "ーヒ", "ヒー")
    )
    assert index_terms_of_text("온천 海 x2") == ("온천", "海", "x2")
    assert index_terms_of_text("🦀 !! \0 _") == ()


def test_names_of_programs_are_found_by_their_parts() -> None:
    assert index_terms_of_text("useState を呼ぶ")[:2] == ("use", "state")
    assert "usestate" in index_terms_of_text("useState")
    assert index_terms_of_text("parseHTTPHeader")[:3] == ("parse", "http", "header")
    assert index_terms_of_text("Plain Words ABC iPad") == ("pad", "plain", "words", "abc", "ipad")


def test_halves_of_characters_are_no_terms() -> None:
    assert index_terms_of_text("\ud800") == index_terms_of_text("\udfff") == ()
    assert index_terms_of_text("海\ud800tea") == ("海", "tea")


@given(st.text(st.characters(exclude_categories=[])))
def test_every_term_of_an_index_can_be_written_and_holds_no_operator(text: str) -> None:
    for term in index_terms_of_text(text):
        assert term.encode()
        assert term.isalnum() or all(ord(each) > 0x3000 for each in term)


@given(st.text(alphabet="海山川ーあいアイab 、"), st.text(alphabet="海山川ーあいアイab 、"))
def test_what_a_question_has_in_common_with_a_text_is_in_both(query: str, around: str) -> None:
    assert set(index_terms_of_text(query)) <= set(index_terms_of_text(f"{around} {query} {around}"))


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
