"""Commands about turns: read one as a story, stop it, and decide what it waits for."""

from typing import Annotated

import typer

from opencrab.gateways.cli.terminal.approval_call import print_turn_call_to_approve
from opencrab.gateways.cli.terminal.arguments import Reason, TurnId
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.terminal import Terminal

_OPEN = {"queued", "running", "waiting"}
"""Statuses of a turn that has not ended; written here, as loading the domain's takes time."""


@cli_command
def show_turn(terminal: Terminal, turn: TurnId) -> None:
    """Show what happened in a turn, step by step."""
    story = terminal.client.get("turns", turn)
    if terminal.options.json:
        terminal.json(story)
        return
    from opencrab.gateways.cli.conversation.turn_story import print_turn_story

    print_turn_story(terminal, story)


@cli_command
def cancel_turn(
    terminal: Terminal,
    turn: TurnId,
    reason: Reason = "",
) -> None:
    """Stop a turn before its next call."""
    stopped = terminal.client.post("turns", turn, "cancel", body={"reason": reason})
    _report(terminal, "turn_cancelled" if stopped["status"] in _OPEN else "turn_ended", stopped)


@cli_command
def decide_turn(
    terminal: Terminal,
    turn: TurnId,
    approve: Annotated[
        bool | None, typer.Option("--approve/--reject", help="Approve or reject it.")
    ] = None,
    reason: Reason = "",
) -> None:
    """Approve or reject the tool call that a turn waits with."""
    if approve is None:
        raise typer.BadParameter(
            terminal.words("decision_needed"), param_hint="--approve / --reject"
        )
    body: dict[str, object] = {"approved": approve, "reason": reason}
    if approve:
        shown = print_turn_call_to_approve(terminal, turn)
        if shown is not None:
            body["argument_hash"] = shown
    decided = terminal.client.post("turns", turn, "decide", body=body)
    _report(terminal, "turn_approved" if approve else "turn_rejected", decided)


def _report(terminal: Terminal, key: str, turn: dict[str, str]) -> None:
    terminal.print_result(turn, key, id=turn["id"], status=terminal.words.term(turn["status"]))
