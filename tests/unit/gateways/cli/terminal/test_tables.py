"""Words, tables and numbers as a person reads them, without losing a character."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from opencrab.domain.amounts import format_micro_usd
from opencrab.gateways.cli.agents.profile_view import agent_trait_bar
from opencrab.gateways.cli.terminal.options import Options
from opencrab.gateways.cli.terminal.tables import (
    draw_fact_table_on_terminal,
    draw_table_on_terminal,
    render_markdown_for_terminal,
)
from opencrab.gateways.cli.terminal.terminal import Terminal
from opencrab.gateways.cli.terminal.text import clean_terminal_text, truncate_terminal_line

words = st.text(st.characters(exclude_categories=["Cc", "Cs", "Cf", "Zl", "Zp"]))


def drawn(text: str) -> str:
    out = io.StringIO()
    Terminal(Options(), out, io.StringIO(), io.StringIO()).draw(render_markdown_for_terminal(text))
    return out.getvalue().rstrip("\n")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# 見出し", "見出し"),
        ("- one\n* two\n  + three", "• one\n• two\n  • three"),
        ("**bold** and `code`", "bold and code"),
        ("2 * 3 * 4 and [bold]x[/bold] :crab:", "2 * 3 * 4 and [bold]x[/bold] :crab:"),
        ("```\n# not a heading\n- **kept**\n```", "```\n# not a heading\n- **kept**\n```"),
        ("snake_case_name #tag", "snake_case_name #tag"),
    ],
)
def test_simple_markdown_is_shown_and_all_else_stays(text: str, shown: str) -> None:
    assert render_markdown_for_terminal(text).plain == shown
    assert [line.rstrip() for line in drawn(text).split("\n")] == shown.split("\n")


@given(lines=st.lists(words.filter(lambda line: not set(line) & set("*`#-+"))))
def test_text_without_marks_is_shown_word_for_word(lines: list[str]) -> None:
    text = "\n".join(lines)
    assert render_markdown_for_terminal(text).plain == clean_terminal_text(text).strip("\n")


def test_prose_is_cleaned_before_it_is_drawn() -> None:
    assert drawn("a\x1b[31mb\u202ec") == "abc"


@given(text=words, length=st.integers(1, 50))
def test_what_is_cut_says_so_and_is_never_longer(text: str, length: int) -> None:
    short = truncate_terminal_line(text, length)
    assert len(short) <= length
    assert short == " ".join(text.split()) or short.endswith("…")


def test_a_table_never_breaks_what_names_a_thing() -> None:
    out = io.StringIO()
    screen = Terminal(Options(), out, io.StringIO(), io.StringIO())
    draw_table_on_terminal(screen.console, ["id", "名前"], [("a" * 26, "さくら"), ("b", None)])
    rows = [line.split() for line in out.getvalue().splitlines()]
    assert rows == [["id", "名前"], ["a" * 26, "さくら"], ["b"]]


def test_facts_without_a_value_are_left_out() -> None:
    out = io.StringIO()
    screen = Terminal(Options(), out, io.StringIO(), io.StringIO())
    draw_fact_table_on_terminal(
        screen.console, [("name", "Ada"), ("purpose", ""), ("model", None), ("turns", 0)]
    )
    screen.print_dim("[b]hint[/b]")
    assert [line.split() for line in out.getvalue().splitlines()] == [
        ["name", "Ada"],
        ["turns", "0"],
        ["[b]hint[/b]"],
    ]


@given(share=st.floats(-2, 2))
def test_a_bar_is_always_ten_wide(share: float) -> None:
    marks = agent_trait_bar(share).split(" ")[0]
    assert len(marks) == 10
    assert set(marks) <= {"━", "╌"}
    assert marks.count("━") == round(min(max(share, 0), 1) * 10)


@pytest.mark.parametrize(
    ("micro_usd", "shown"),
    [(0, "$0.00"), (1, "$0.000001"), (1_250, "$0.00125"), (1_500_000, "$1.50"), (10**7, "$10.00")],
)
def test_money_is_shown_to_the_last_place_that_counts(micro_usd: int, shown: str) -> None:
    assert format_micro_usd(micro_usd) == shown


@given(micro_usd=st.integers(0, 10**12))
def test_no_money_is_rounded_away(micro_usd: int) -> None:
    whole, _, places = format_micro_usd(micro_usd).removeprefix("$").partition(".")
    assert int(whole) * 10**6 + int(places.ljust(6, "0")) == micro_usd


class Screen(io.StringIO):
    """A stream that somebody looks at."""

    def isatty(self) -> bool:
        return True


def test_a_table_that_is_too_wide_becomes_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    heads, row = ["agent", "model", "calls"], ("さくら", "anthropic:claude-sonnet-4-5", "1,234")
    shown = {}
    for columns in ("30", "80"):
        monkeypatch.setenv("COLUMNS", columns)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("NO_COLOR", "1")
        out = Screen()
        screen = Terminal(Options(), out, io.StringIO(), io.StringIO())
        draw_table_on_terminal(screen.console, heads, [row, ("計", "", "1")])
        shown[columns] = [
            clean_terminal_text(line).rstrip() for line in out.getvalue().splitlines()
        ]
    assert shown["30"] == [
        "さくら",
        "  model:",
        "  anthropic:claude-sonnet-4-5",
        "  calls: 1,234",
        "計",
        "  calls: 1",
    ]
    assert shown["80"][1].split() == list(row)


def test_a_table_of_japanese_titles_is_a_table_on_80_columns() -> None:
    out = io.StringIO()
    title = "新幹線とホテルの両方を予約して経費の精算まで済"
    rows = [("qfs1t315d288agmkzbaw7grs5x", "葵", title, 12, "2026-11-28 19:23")]
    draw_table_on_terminal(
        Console(file=out, width=80), ("id", "agent", "title", "turns", "changed"), rows
    )
    lines = out.getvalue().splitlines()
    assert lines[0].split() == ["id", "agent", "title", "turns", "changed"]
    assert all(cell_len(line) <= 80 for line in lines)
    assert "2026-11-28 19:23" in lines[1]
    kept = "".join(line[26:] for line in lines[1:])
    assert "".join(each for each in kept if each in title) == title
