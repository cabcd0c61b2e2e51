"""Nobody's words can move the cursor, hide text or speak to the terminal."""

import io
import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.gateways.cli.language.sentences import EN, JA, CliLanguage
from opencrab.gateways.cli.terminal.options import Options
from opencrab.gateways.cli.terminal.terminal import Terminal
from opencrab.gateways.cli.terminal.text import clean_terminal_text

BIDI = "".join(map(chr, [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]))
anything = st.text(st.characters())
nasty = st.text(st.sampled_from("\x1b[]0;31mh\x07\x9b\x00\r\n\tA漢" + BIDI), max_size=30)


def terminal(tongue: CliLanguage = EN) -> tuple[Terminal, io.StringIO, io.StringIO]:
    out, err = io.StringIO(), io.StringIO()
    return Terminal(Options(language=tongue), out, err, io.StringIO()), out, err


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[2J\x1b[Hgone", "gone"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("a\rb", "ab"),
        ("over\b\bwritten", "overwritten"),
        ("\x9b31mred", "31mred"),
        ("abc\u202edcba\u202c", "abcdcba"),
        ("\u2066isolated\u2069", "isolated"),
        ("a\tb\nc", "a    b\nc"),
        ("さくら🌸", "さくら🌸"),
        ("half \ud83d", "half ?"),
    ],
)
def test_what_speaks_to_the_terminal_is_taken_out_and_the_rest_stays(text: str, shown: str) -> None:
    assert clean_terminal_text(text) == shown


@given(text=anything | nasty)
def test_no_control_character_but_the_end_of_a_line_is_left(text: str) -> None:
    left = {
        character
        for character in clean_terminal_text(text)
        if unicodedata.category(character) in "CcCs"
    }
    assert left <= {"\n"}
    assert not set(clean_terminal_text(text)) & set(BIDI)


@given(text=anything | nasty)
def test_what_was_cleaned_once_stays_as_it_is(text: str) -> None:
    assert clean_terminal_text(clean_terminal_text(text)) == clean_terminal_text(text)


@given(text=st.text(st.characters(exclude_categories=["Cc", "Cs", "Cf"])))
def test_harmless_text_loses_nothing(text: str) -> None:
    assert clean_terminal_text(text) == text


@given(text=anything | nasty)
def test_a_line_and_a_complaint_are_clean(text: str) -> None:
    screen, out, err = terminal()
    screen.line(text)
    screen.print_complaint(text)
    assert out.getvalue() == err.getvalue() == clean_terminal_text(text) + "\n"


@given(value=st.recursive(anything | nasty, lambda inner: st.lists(inner) | st.tuples(inner)))
def test_json_is_one_safe_line_that_says_the_same(value: Any) -> None:
    screen, out, _ = terminal()
    screen.json(value)
    written = out.getvalue()
    written.encode()
    assert clean_terminal_text(written) == written
    assert written.count("\n") == 1
    assert json.loads(written) == json.loads(json.dumps(value))


def test_json_keeps_japanese_readable() -> None:
    screen, out, _ = terminal()
    screen.json({"name": "さくら"})
    assert out.getvalue() == '{"name": "さくら"}\n'


@pytest.mark.parametrize(
    ("tongue", "sentence"),
    [(EN, "retired Ada"), (JA, "Ada は引退しました")],
)
def test_a_sentence_is_said_in_the_users_language(tongue: CliLanguage, sentence: str) -> None:
    screen, out, err = terminal(tongue)
    screen.print_sentence("agent_retired", name="Ada")
    screen.print_note("agent_retired", name="Ada")
    assert out.getvalue() == err.getvalue() == f"{sentence}\n"


def test_a_stream_that_cannot_show_a_character_shows_a_mark() -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    screen = Terminal(Options(), out, io.StringIO(), io.StringIO())
    screen.line("さくら ok")
    assert raw.getvalue() == b"??? ok\n"


def test_nobody_is_there_when_either_end_is_a_pipe() -> None:
    screen, _, _ = terminal()
    assert not screen.interactive
