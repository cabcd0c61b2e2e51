"""What a person types: one line, continued lines, or a block; with a history of their own."""

import codecs
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.gateways.cli.terminal.input import FENCE, read_terminal_text, terminal_line_editing

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
    assert read_terminal_text(typed(*lines), "you> ", "… ") == text


@given(lines=st.lists(plain.filter(lambda line: line.strip() != FENCE)))
def test_a_block_keeps_every_line(lines: list[str]) -> None:
    assert read_terminal_text(typed(FENCE, *lines, FENCE), "you> ", "… ") == "\n".join(lines)


def test_the_prompt_changes_while_more_is_expected() -> None:
    prompts: list[str] = []
    read = typed("a\\", "b")

    def watched(prompt: str) -> str:
        prompts.append(prompt)
        return read(prompt)

    read_terminal_text(watched, "you> ", "… ")
    assert prompts == ["you> ", "… "]


@pytest.mark.parametrize("lines", [[], ["a\\"], [FENCE, "a"]])
def test_the_end_of_input_is_the_end_anywhere(lines: list[str]) -> None:
    with pytest.raises(EOFError):
        read_terminal_text(typed(*lines), "you> ", "… ")


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


@pytest.mark.parametrize("text", ["next question", "次の質問"])
def test_what_is_typed_meanwhile_is_shown_by_the_next_prompt_only(
    tmp_path: Path, text: str
) -> None:
    program = """
import os, sys
from opencrab.gateways.cli.terminal.input import terminal_line_editing, hide_terminal_typing
from pathlib import Path
with terminal_line_editing(Path(sys.argv[2])):
    with hide_terminal_typing():
        print("busy", flush=True)
        os.read(int(sys.argv[1]), 1)
    print("heard", input("you> "), flush=True)
"""
    ours, theirs = pty.openpty()
    may_go, go = os.pipe()
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(may_go), str(tmp_path / "history")],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        pass_fds=(may_go,),
    )

    # A read may end within a character, whose rest comes with the next.
    decoder = codecs.getincrementaldecoder("utf-8")()

    def seen(mark: str) -> str:
        told = ""
        while mark not in told:
            told += decoder.decode(os.read(ours, 1_000))
        return told

    try:
        seen("busy")
        os.write(ours, text.encode())
        os.write(go, b".")
        before, _, after = seen("you> ").partition("you> ")
        assert text not in before
        while text not in after:
            after += decoder.decode(os.read(ours, 1_000))
        os.write(ours, b"\r")
        seen(f"heard {text}")
        assert child.wait() == 0
    finally:
        child.kill()
        child.wait()
        for each in (ours, theirs, may_go, go):
            os.close(each)


def test_a_terminal_that_closes_meanwhile_replaces_no_error() -> None:
    program = """
import os, pty, sys
from opencrab.gateways.cli.terminal.input import hide_terminal_typing
ours, theirs = pty.openpty()
sys.stdin = os.fdopen(theirs)
try:
    with hide_terminal_typing():
        os.close(ours)
        raise LookupError
except LookupError:
    print("as ever")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "as ever\n", "")
