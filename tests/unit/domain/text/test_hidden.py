"""Hidden characters of names: nothing hides, and every script keeps what it needs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.text.hidden import hidden_text_in_name, name_without_hidden_text

FINE = [
    "Ada",
    "葵",
    "美香 🦀",
    "葛\U000e0100飾区",
    "神\ufe00田",
    "👩\u200d👩\u200d👧",
    "👩🏽\u200d🚀",
    "❤\ufe0f",
    "🏳\ufe0f\u200d🌈",
    "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "1\ufe0f\u20e3",
    "🧑\u200d\U0001fa70",
    "क्\u200dष",
    "\u0645\u06cc\u200c\u062e\u0648\u0627",
    "ᠮᠣᠩᠭᠣᠯ\u180b",
    "O\u2019Brien",
    "Jean Paul",
    "سورة\u06dd",
    "ｶﾆ",
    "がぎ",
]

HIDDEN = [
    ("ad\u202emin", "\u202e"),
    ("\u2066admin\u2069", "\u2066"),
    ("admin\u200b", "\u200b"),
    ("ad\u200dmin", "\u200d"),
    ("ad\u200cmin", "\u200c"),
    ("管\u200b理者", "\u200b"),
    ("管\u200d理者", "\u200d"),
    ("管理者\u200f", "\u200f"),
    ("a\ufe0fb", "\ufe0f"),
    ("か\ufe00", "\ufe00"),
    ("1\ufe0f", "\ufe0f"),
    ("admin\U000e0061", "\U000e0061"),
    ("admi\u00adn", "\u00ad"),
    ("\u3164", "\u3164"),
    ("admin\u2800", "\u2800"),
    ("\ufeffadmin", "\ufeff"),
    ("🦀\u200d", "\u200d"),
    ("🦀\u200da", "\u200d"),
    ("葵\U000e01ef\U000e01ef", "\U000e01ef"),
]


@pytest.mark.parametrize("name", FINE)
def test_a_name_keeps_what_its_script_needs(name: str) -> None:
    assert hidden_text_in_name(name) == ""
    assert name_without_hidden_text(name) == name


@pytest.mark.parametrize(("name", "hidden"), HIDDEN)
def test_a_name_from_outside_loses_what_hides(name: str, hidden: str) -> None:
    assert hidden_text_in_name(name) == hidden
    cleaned = name_without_hidden_text(name)
    assert hidden_text_in_name(cleaned) == ""
    assert set(cleaned) <= set(name)
    assert len(cleaned) < len(name)


@given(st.text(max_size=30))
def test_a_text_is_cleaned_only_where_something_hides(text: str) -> None:
    assert (name_without_hidden_text(text) == text) is (hidden_text_in_name(text) == "")
