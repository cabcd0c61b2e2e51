"""What a person types: one line, continued lines, or a block; with a history of their own."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.gateways.cli.terminal.input import FENCE, read_piped_text, terminal_line_editing

plain = st.text(st.characters(exclude_characters="\r\n\\"))


def typed(*lines: str) -> Callable[[str], str]:
    waiting = list(lines)

    def read(prompt: str) -> str:
        if not waiting:
            raise EOFError
        return waiting.pop(0)

    return read


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (["hello"], "hello"),
        (["一行目\\", "二行目"], "一行目\n二行目"),
        (["a\\", "b\\", ""], "a\nb\n"),
        ([FENCE, "def f():", "    return 1\\", "", FENCE], "def f():\n    return 1\\\n"),
        ([f" {FENCE} ", FENCE], ""),
    ],
)
def test_lines_become_one_text(lines: list[str], text: str) -> None:
    assert read_piped_text(typed(*lines), "you> ", "… ") == text


@given(lines=st.lists(plain.filter(lambda line: line.strip() != FENCE)))
def test_a_block_keeps_every_line(lines: list[str]) -> None:
    assert read_piped_text(typed(FENCE, *lines, FENCE), "you> ", "… ") == "\n".join(lines)


def test_the_prompt_changes_while_more_is_expected() -> None:
    prompts: list[str] = []
    read = typed("a\\", "b")

    def watched(prompt: str) -> str:
        prompts.append(prompt)
        return read(prompt)

    read_piped_text(watched, "you> ", "… ")
    assert prompts == ["you> ", "… "]


@pytest.mark.parametrize("lines", [[], ["a\\"], [FENCE, "a"]])
def test_the_end_of_input_is_the_end_anywhere(lines: list[str]) -> None:
    with pytest.raises(EOFError):
        read_piped_text(typed(*lines), "you> ", "… ")


def test_the_history_is_readable_by_its_user_only(tmp_path: Path) -> None:
    history = tmp_path / "state" / "opencrab" / "chat_history"
    with terminal_line_editing(history):
        pass
    assert history.stat().st_mode & 0o777 == 0o600


def test_a_history_that_cannot_be_kept_stops_nobody(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with terminal_line_editing(tmp_path / "file" / "chat_history"):
        pass
    assert (tmp_path / "file").is_file()
