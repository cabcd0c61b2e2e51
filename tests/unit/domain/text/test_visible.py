"""Visible text: whatever hides is written out, and what a reader knows stays as it is."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.text.visible import text_line_showing_hidden, text_showing_hidden


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
        ("e\u0301\u0301", "e\u0301⟨U+0301⟩"),
        ("\u00e9\u0301", "\u00e9⟨U+0301⟩"),
        ("e\u0301\u0323\u0301", "e\u0301\u0323⟨U+0301⟩"),
        (
            "e\u0300\u0301\u0302\u0303\u0304\u0305",
            "e\u0300\u0301\u0302\u0303⟨U+0304⟩⟨U+0305⟩",
        ),
        ("\ua4ee\ua4d1に", "\ua4ee\ua4d1⟨U+A4EE U+A4D1⟩に"),
        ("\u13da\u13aa", "\u13da\u13aa⟨U+13DA U+13AA⟩"),
        ("\u2c9f\u2ca5", "\u2c9f\u2ca5⟨U+2C9F U+2CA5⟩"),
        ("\u15c5\u146d", "\u15c5\u146d⟨U+15C5 U+146D⟩"),
        ("so \u0578\u0585\u0578", "so \u0578\u0585\u0578⟨U+0578 U+0585 U+0578⟩"),
        ("\u0430\u0440\u0440に送る", "\u0430\u0440\u0440⟨U+0430 U+0440 U+0440⟩に送る"),
        ("1\u09ea00", "1\u09ea⟨U+09EA⟩00"),
        ("\u0a67\u0a66円", "\u0a67\u0a66⟨U+0A67 U+0A66⟩円"),
        ("\u0641\u0627 10\u06f00", "\u0641\u0627 10\u06f0⟨U+06F0⟩0"),
        ("\U0001d7ce.5", "\U0001d7ce⟨U+1D7CE⟩.5"),
        ("a\u0903", "a\u0903⟨U+0903⟩"),
        ("\u217cogin.\u217d", "\u217c⟨U+217C⟩ogin.\u217d⟨U+217D⟩"),
        ("\u2164ISA", "\u2164⟨U+2164⟩ISA"),
        ("a\u2215b\u2044c", "a\u2215⟨U+2215⟩b\u2044⟨U+2044⟩c"),
        ("a\u2024md\ua4f8", "a\u2024⟨U+2024⟩md\ua4f8⟨U+A4F8⟩"),
        ("http\ua789\u2236", "http\ua789⟨U+A789⟩\u2236⟨U+2236⟩"),
        ("rm \u2010rf \u2212f", "rm \u2010⟨U+2010⟩rf \u2212⟨U+2212⟩f"),
        ("ok\u01c3 \u037e", "ok\u01c3⟨U+01C3⟩ \u037e⟨U+037E⟩"),
        ("\ud800\x00\x1b[2J\t", "⟨U+D800⟩⟨U+0000⟩⟨U+001B⟩[2J⟨U+0009⟩"),
        ("\u3164\u2800\ufe0f\U000e0041", "⟨U+3164⟩⟨U+2800⟩⟨U+FE0F⟩⟨U+E0041⟩"),
        ("a\r\nb\u2028c", "a⟨U+000D⟩\nb⟨U+2028⟩c"),
    ],
)
def test_what_hides_is_written_out(text: str, shown: str) -> None:
    assert text_showing_hidden(text) == shown


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
        "数学ⅡB・ⅠA、第Ⅲ部、ⅳ）項目、10μm、5kΩ、㈱、①〜③、℃、№1、m²、1⁄3",  # noqa: RUF001
        "〆切は〇日、々ゞヽ〼、ｶﾀｶﾅ ﾞ ﾟ ー ｰ、ＭＵＳＥＳ−Ａ、気温は−5度、MUSES−CN",  # noqa: RUF001
        "※ ★ ☆ ・ 〜 ～ … ‥ ─ │ ├ █ ✓ → ± × ÷ ≠ ≤ ∞ √ ° § †",
        "Ça coûte 5 €, naïve œuvre – « oui », l’été… ½ kg, n° 5",
        "Größe: 5 × 3 − 2 = 13 m², „ja“ ‚nein‘ ß",  # noqa: RUF001
        "¿Qué? ¡Sí! 1.º 2.ª, Việt Nam: Nguyễn Thị Hương",
        "Ελληνικά: καλημέρα σας, м’ята, ґанок, Բարեւ ձեզ",
        "हिन्दी १२३ में, العربية ١٢٣, فارسی ۱۲۳, ไทย ๑๒๓, שלום 12",
    ],
)
def test_what_a_reader_knows_stays_as_it_is(text: str) -> None:
    assert text_showing_hidden(text) == text


def test_one_line_marks_its_line_feeds() -> None:
    assert text_line_showing_hidden("a\nb") == "a⟨U+000A⟩b"


@given(st.text(alphabet=st.characters(), max_size=40))
def test_nothing_that_hides_is_left_and_nothing_is_lost(text: str) -> None:
    shown = text_showing_hidden(text)
    assert not {unicodedata.category(each)[0] for each in shown if each != "\n"} & {"C"}
    assert shown.encode().decode() == shown
    kept = [each for each in text if each.isascii() and each.isprintable()]
    rest = iter(shown)
    assert all(each in rest for each in kept)


@given(st.text(max_size=12), st.text(max_size=12))
def test_two_texts_are_never_shown_alike(one: str, other: str) -> None:
    assert (text_showing_hidden(one) == text_showing_hidden(other)) is (one == other)
