"""The command that shows what came out of a discussion, and who kept what was promised."""

from typing import Any

from opencrab.gateways.cli.conversation.sessions import SessionId
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.dates import format_time_for_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal


@cli_command
def show_session_outcome(terminal: Terminal, session: SessionId) -> None:
    """Show what a discussion decided, what is open, and who does what by when."""
    found = terminal.client.get("sessions", session, "outcome")
    if terminal.options.json:
        terminal.json(found)
        return
    if found["state"] != "written":
        is_asked = found["state"] == "asked"
        terminal.print_sentence("outcome_asked" if is_asked else "outcome_unknown")
        return
    for head, points in (
        ("outcome_decisions", found["decisions"]),
        ("outcome_open_points", found["open_points"]),
    ):
        if points:
            terminal.print_sentence(head)
        for point in points:
            terminal.line(f"- {point}")
    if found["tasks"]:
        heads = ("task_id", "agent", "what", "deadline", "status", "reason")
        terminal.table(heads, [_row(terminal, task) for task in found["tasks"]])


def _row(terminal: Terminal, task: dict[str, Any]) -> tuple[str, ...]:
    settled = task["promise"] if task["promise"] not in {None, "open"} else None
    state = settled or ("asked" if task["answer"] == "open" else task["answer"])
    return (
        str(task["number"]),
        task["name"],
        task["what"],
        format_time_for_terminal(task["due"]),
        terminal.words.term(state),
        task["reason"] or ", ".join(task["evidence"]),
    )
