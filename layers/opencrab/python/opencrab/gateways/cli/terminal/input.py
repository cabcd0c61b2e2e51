"""Input: short questions with their answers, and what a person types as one text of many lines."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

import typer

from opencrab.gateways.cli.terminal.terminal import Terminal

FENCE = '"""'
STDIN = "-"
"""The name of standard input where a text is named."""

_KEPT = 1_000
_YES = {"y", "yes", "h", "はい", "うん", "ok"}
_NO = {"n", "no", "いいえ"}

ReadLine = Callable[[str], str]


class MissingAnswerError(Exception):
    """A question in a command that may not ask, or that no person could answer."""

    def __init__(self, question: str) -> None:
        super().__init__(question)
        self.question = question.strip()


_MAY_ASK: ContextVar[bool] = ContextVar("may_ask", default=True)


@contextmanager
def terminal_questions_allowed(*, allowed: bool) -> Iterator[None]:
    """Let questions be asked within the block, or raise MissingAnswerError in their place."""
    token = _MAY_ASK.set(allowed)
    try:
        yield
    finally:
        _MAY_ASK.reset(token)


def _ask(question: str, hint: str) -> str:
    if not _MAY_ASK.get():
        raise MissingAnswerError(question)
    return input(f"{question}{hint}").strip()


def read_terminal_text(read: ReadLine, prompt: str, more: str) -> str:
    """Read one text: a line, lines joined by a trailing backslash, or a block between fences.

    `prompt` is shown before the first line and `more` before the others. Raises EOFError at the
    end.
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
def hide_terminal_typing() -> Iterator[None]:
    """Show nothing that is typed within the block, which redraws lines; the next prompt shows it.

    Ctrl-C works as ever, and drops what was typed.
    """
    place = _terminal_typed_at()
    if place is None:
        yield
        return
    import termios

    before = termios.tcgetattr(place)
    echo_off = [*before[:3], before[3] & ~termios.ECHO, *before[4:]]
    try:
        termios.tcsetattr(place, termios.TCSADRAIN, echo_off)
        yield
    finally:
        with suppress(termios.error):  # of a terminal that was closed meanwhile
            termios.tcsetattr(place, termios.TCSADRAIN, before)


def _terminal_typed_at() -> int | None:
    """Return standard input as a file number if it is a terminal whose echo can be switched."""
    try:
        place = sys.stdin.fileno()
    except (OSError, ValueError):  # closed, or no file
        return None
    return place if os.name == "posix" and os.isatty(place) else None


@contextmanager
def interruption_delayed() -> Iterator[None]:
    """Let a Ctrl-C within the block count at its end, so that the block is done whole."""
    import signal

    pressed = list[int]()
    before = signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt


@contextmanager
def terminal_line_editing(history: Path) -> Iterator[None]:
    """Enable line editing and history of `input`, kept in a file that only its user may read."""
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


def ask_line_on_terminal(question: str, default: str = "") -> str:
    """Ask for a line; an empty one gives the default. Raises EOFError at the end of input."""
    shown = f" [{default}]" if default else ""
    return _ask(question, f"{shown}: ") or default


def ask_one_of_on_terminal(
    terminal: Terminal, question: str, choices: Sequence[str], default: str
) -> str:
    """Ask until the answer is one of the choices."""
    while True:
        answer = ask_line_on_terminal(question, default)
        if answer in choices:
            return answer
        terminal.print_sentence("one_of", choices=", ".join(choices))


def ask_choice_on_terminal(
    terminal: Terminal, question: str, choices: Sequence[str], default: str
) -> str:
    """Ask until the answer is one of the choices, or its number; an empty one is the default."""
    while True:
        answer = _ask(question, f" [{default}]: ") or default
        if answer.isdecimal() and 1 <= int(answer) <= len(choices):
            return choices[int(answer) - 1]
        if answer in choices:
            return answer
        terminal.print_sentence("one_of", choices=f"1-{len(choices)}")


def ask_needed_on_terminal(terminal: Terminal, question: str) -> str:
    """Ask until the answer is not empty."""
    while True:
        answer = ask_line_on_terminal(question)
        if answer:
            return answer
        terminal.print_sentence("needed")


def ask_yes_or_no_on_terminal(question: str, *, default: bool) -> bool:
    """Ask until the answer is yes or no."""
    hint = "Y/n" if default else "y/N"
    while True:
        answer = _ask(question, f" [{hint}] ").casefold()
        if not answer:
            return default
        if answer in _YES | _NO:
            return answer in _YES


def confirm_on_terminal(
    terminal: Terminal, question: str, *, yes: bool, needed: str, default: bool = False
) -> bool:
    """Ask for confirmation unless `yes`; raises BadParameter if nobody is there to answer."""
    if yes:
        return True
    require_terminal_user(terminal, needed)
    return ask_yes_or_no_on_terminal(question, default=default)


def require_terminal_user(terminal: Terminal, needed: str) -> None:
    """Raise BadParameter, which names --yes, if no person is there to answer."""
    if not terminal.interactive:
        raise typer.BadParameter(terminal.words(needed), param_hint="--yes")


def terminal_text_argument_or_pipe(
    terminal: Terminal, text: str | None, *, needed: str, option: str, empty: bool = False
) -> str:
    """Return the argument, or the piped input, which `-` names too.

    Raises BadParameter if there is none, or nothing in it unless `empty`.
    """
    if text == STDIN or (text is None and not terminal.input.isatty()):
        # Loaded here, as most commands read no standard input.
        from opencrab.gateways.cli.scripting.standard_input import StandardInput

        text = StandardInput(terminal.input, terminal.words, terminal.print_note_text).read()
    if text is None or not (empty or text.strip()):
        raise typer.BadParameter(terminal.words(needed), param_hint=option)
    return text


def ask_number_on_terminal(terminal: Terminal, question: str, highest: int) -> int:
    """Ask until the answer is a number from 1 to `highest`."""
    while True:
        answer = _ask(question, f" [1-{highest}]: ")
        if answer.isdecimal() and 1 <= int(answer) <= highest:
            return int(answer)
        terminal.print_sentence("one_of", choices=f"1-{highest}")
