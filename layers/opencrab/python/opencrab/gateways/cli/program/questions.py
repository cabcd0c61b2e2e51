"""Asking: short questions to the person at the terminal, each with an answer to accept."""

from collections.abc import Sequence

from opencrab.gateways.cli.program.terminal import Terminal

_YES = {"y", "yes", "h", "はい", "うん", "ok"}
_NO = {"n", "no", "いいえ"}


def ask(question: str, default: str = "") -> str:
    """One line, or the default for an empty one; raises EOFError when nobody answers."""
    shown = f" [{default}]" if default else ""
    return input(f"{question}{shown}: ").strip() or default


def ask_one_of(terminal: Terminal, question: str, choices: Sequence[str], default: str) -> str:
    """One of some words, asked until it is one."""
    while True:
        answer = ask(question, default)
        if answer in choices:
            return answer
        terminal.say("one_of", choices=", ".join(choices))


def ask_needed(terminal: Terminal, question: str) -> str:
    """One line that is not empty, asked until it is not."""
    while True:
        answer = ask(question)
        if answer:
            return answer
        terminal.say("needed")


def agrees(question: str, *, default: bool) -> bool:
    """Yes or no, asked until it is one of them."""
    hint = "Y/n" if default else "y/N"
    while True:
        answer = input(f"{question} [{hint}] ").strip().casefold()
        if not answer:
            return default
        if answer in _YES | _NO:
            return answer in _YES


def ask_number(terminal: Terminal, question: str, highest: int) -> int:
    """A number from 1 to the highest, asked until it is one."""
    while True:
        answer = input(f"{question} [1-{highest}]: ").strip()
        if answer.isdecimal() and 1 <= int(answer) <= highest:
            return int(answer)
        terminal.say("one_of", choices=f"1-{highest}")
