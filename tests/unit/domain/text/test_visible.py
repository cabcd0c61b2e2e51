"""Visible text: whatever hides is written out, and what a reader knows stays as it is."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.text.visible import visible_line, visible_text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("abc\u202edef", "abc⟨U+202E⟩def"),
        ("a\u200b\u200b\u200bb", "a⟨U+200B×3⟩b"),
        ("p\u0430ypal", "p\u0430⟨U+0430⟩ypal"),
        ("p\u0430\u200bypal", "p\u0430⟨U+0430⟩⟨U+200B⟩ypal"),
        ("run \u0441\u043e", "run \u0441\u043e⟨U+0441 U+043E⟩"),
        ("\u0441\u043eを run", "\u0441\u043e⟨U+0441 U+043E⟩を run"),
        ("\U0001d429ay", "\U0001d429⟨U+1D429⟩ay"),
        ("a\u00a0b\u2003c\u3000d", "a⟨U+00A0⟩b⟨U+2003⟩c\u3000d"),
        ("⟨U+202E⟩", "⟨U+27E8⟩U+202E⟩"),
        ("e" + "\u0301" * 6, "e" + "\u0301" * 4 + "⟨U+0301⟩⟨U+0301⟩"),
        ("\ud800\x00\x1b[2J\t", "⟨U+D800⟩⟨U+0000⟩⟨U+001B⟩[2J⟨U+0009⟩"),
        ("\u3164\u2800\ufe0f\U000e0041", "⟨U+3164⟩⟨U+2800⟩⟨U+FE0F⟩⟨U+E0041⟩"),
        ("a\r\nb\u2028c", "a⟨U+000D⟩\nb⟨U+2028⟩c"),
    ],
)
def test_what_hides_is_written_out(text: str, shown: str) -> None:
    assert visible_text(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "plain text, with “quotes” — and dashes…",
        "今日は良い天気です。Alice と、トマトー々をＡＢＣ１２ｶﾀｶﾅで①",
        "か\u3099き\u3099",
        "Привет мир, Windows",
        "école ñ ß Łódź",
        "العربية שלום",
        "α版を作る",
        "🦀 蟹\nline",
        "한국어와 English",
    ],
)
def test_what_a_reader_knows_stays_as_it_is(text: str) -> None:
    assert visible_text(text) == text


def test_one_line_marks_its_line_feeds() -> None:
    assert visible_line("a\nb") == "a⟨U+000A⟩b"


@given(st.text(alphabet=st.characters(), max_size=40))
def test_nothing_that_hides_is_left_and_nothing_is_lost(text: str) -> None:
    shown = visible_text(text)
    assert not {unicodedata.category(each)[0] for each in shown if each != "\n"} & {"C"}
    assert shown.encode().decode() == shown
    kept = [each for each in text if each.isascii() and each.isprintable()]
    rest = iter(shown)
    assert all(each in rest for each in kept)


@given(st.text(max_size=12), st.text(max_size=12))
def test_two_texts_are_never_shown_alike(one: str, other: str) -> None:
    assert (visible_text(one) == visible_text(other)) is (one == other)
