"""Commands about turns: list them, read one as a story, stop it, and decide what it waits for."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from opencrab.domain.amounts import format_micro_usd
from opencrab.gateways.cli.terminal.approval_call import print_turn_call_on_terminal
from opencrab.gateways.cli.terminal.arguments import SESSIONS, Reason, TurnId, cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.dates import format_time_for_terminal
from opencrab.gateways.cli.terminal.lookup import agent_names_for_terminal, find_agent_for_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal

_OPEN = {"queued", "running", "waiting"}
"""Statuses of a turn that has not ended; written here, as loading the domain's takes time."""


class TurnStatusOption(StrEnum):
    """The statuses of a turn; written here, as loading the domain's takes time."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    COMPLETED = "completed"
    IDLE = "idle"
    STOPPED = "stopped"
    EXHAUSTED = "exhausted"
    FAILED = "failed"


@cli_command
def list_conversation_turns(
    terminal: Terminal,
    *,
    agent: Annotated[str | None, cli_option("Only turns of this agent.", "AGENT")] = None,
    session: Annotated[str | None, cli_option("Only turns in this conversation."), SESSIONS] = None,
    status: Annotated[
        TurnStatusOption | None, cli_option("Only turns with this status.", show_default=False)
    ] = None,
    last: Annotated[int, cli_option("Number of turns.", min=1, max=100)] = 20,
) -> None:
    """List turns, newest first."""
    query = {
        "agent_id": None if agent is None else find_agent_for_terminal(terminal, agent)["id"],
        "session_id": session,
        "status": None if status is None else status.value,
        "limit": last,
    }
    turns = terminal.client.get("turns", **query)["items"]
    terminal.show_list(turns, _draw, "no_turns")


@cli_command
def show_turn_of_session(terminal: Terminal, turn: TurnId) -> None:
    """Show what happened in a turn, step by step."""
    story = terminal.client.get("turns", turn)
    if terminal.options.json:
        terminal.json(story)
        return
    from opencrab.gateways.cli.conversation.turn_story import print_turn_of_conversation

    print_turn_of_conversation(terminal, story)


@cli_command
def cancel_conversation_turn(
    terminal: Terminal,
    turn: TurnId,
    reason: Reason = "",
) -> None:
    """Stop a turn before its next call."""
    stopped = terminal.client.post("turns", turn, "cancel", body={"reason": reason})
    _report(terminal, "turn_cancelled" if stopped["status"] in _OPEN else "turn_ended", stopped)


@cli_command
def decide_conversation_turn(
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
        shown = print_turn_call_on_terminal(terminal, turn)
        if shown is not None:
            body["argument_hash"] = shown
    decided = terminal.client.post("turns", turn, "decide", body=body)
    _report(terminal, "turn_approved" if approve else "turn_rejected", decided)


def _draw(terminal: Terminal, turns: list[dict[str, Any]]) -> None:
    words, names = terminal.words, agent_names_for_terminal(terminal)
    rows = [
        (
            turn["id"],
            names.get(turn["agent_id"], turn["agent_id"]),
            turn["session_id"],
            words.term(turn["status"]),
            turn["model_calls"],
            format_micro_usd(turn["spent_micro_usd"]),
            format_time_for_terminal(turn["created_at"]),
        )
        for turn in turns
    ]
    terminal.table(("id", "agent", "session", "status", "calls", "cost", "created"), rows)


def _report(terminal: Terminal, key: str, turn: dict[str, str]) -> None:
    terminal.print_result(turn, key, id=turn["id"], status=terminal.words.term(turn["status"]))
