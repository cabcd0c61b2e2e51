"""A call that waits for approval, printed whole before anybody agrees to it."""

from collections.abc import Iterator, Mapping
from typing import Any

from opencrab.domain.errors import Conflict
from opencrab.gateways.cli.terminal.terminal import Terminal
from opencrab.gateways.cli.terminal.text import visible_terminal_text

_PENDING = "pending"


def print_approval_call_on_terminal(terminal: Terminal, approval: str) -> str:
    """Print every byte of a call on standard error, and return its hash.

    Raises Conflict when the call waits but cannot be shown to this user.
    """
    found = terminal.client.get("approvals", approval)
    if found["state"] != _PENDING:
        # The server says by whom it was decided, or takes the same decision again.
        return str(found["argument_hash"])
    if found["arguments"] is None:
        raise Conflict(
            terminal.words("call_not_shown", id=approval),
            cure=terminal.words("call_not_shown_cure"),
        )
    terminal.print_complaint(visible_terminal_text(found["what"]))
    touches = visible_terminal_text(found["touches"])
    terminal.print_complaint(terminal.words("task_touches", touches=touches))
    for line in terminal_call_lines(terminal, found):
        terminal.print_complaint(line)
    return str(found["argument_hash"])


def print_turn_call_on_terminal(terminal: Terminal, turn_id: str) -> str | None:
    """Print the call for which a turn waits, and return its hash; None if it waits for none."""
    waiting = terminal.client.items("approvals", state="open")
    asked = next((each["id"] for each in waiting if each["turn_id"] == turn_id), None)
    return None if asked is None else print_approval_call_on_terminal(terminal, asked)


def terminal_call_lines(terminal: Terminal, found: Mapping[str, Any]) -> Iterator[str]:
    """Return the whole call: its arguments, the change that it makes, and its hash."""
    # Loaded here, as most commands show no call.
    from opencrab.domain.approvals.call_text import approval_call_arguments

    words = terminal.words
    if found["arguments"] is not None:
        yield words("head_arguments")
        yield approval_call_arguments(found["arguments"])
    if found.get("diff"):
        yield words("head_change")
        yield str(found["diff"])
    if found.get("argument_hash"):
        yield f"SHA-256 {found['argument_hash']}"
