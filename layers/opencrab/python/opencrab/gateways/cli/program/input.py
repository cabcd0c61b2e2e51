"""Prompt: what a person types, line by line or as one text of many lines, with its history."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FENCE = '"""'
_KEPT = 1_000

ReadLine = Callable[[str], str]


def read_text(read: ReadLine, prompt: str, more: str) -> str:
    """One text: a line, lines that end with a backslash and the next, or a block between fences.

    `prompt` stands before the first line and `more` before the others. Raises EOFError at the end.
    """
    line = read(prompt)
    if line.strip() == FENCE:
        return "\n".join(iter(lambda: _until_fence(read(more)), None))
    lines = []
    while line.endswith("\\"):
        lines.append(line[:-1])
        line = read(more)
    return "\n".join([*lines, line])


def _until_fence(line: str) -> str | None:
    return None if line.strip() == FENCE else line


@contextmanager
def line_editing(history: Path) -> Iterator[None]:
    """Let `input` edit lines and recall earlier ones, kept in a file that only its user reads."""
    try:
        import readline
    except ImportError:  # Windows has its own
        yield
        return
    with suppress(OSError):
        history.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        history.touch(mode=0o600)
        readline.read_history_file(history)
    readline.set_history_length(_KEPT)
    try:
        yield
    finally:
        with suppress(OSError):
            readline.write_history_file(history)
            history.chmod(0o600)
