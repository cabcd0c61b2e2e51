"""Commands about sessions: list, show and end them, and instruct their agents."""

from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any

import typer

from opencrab.gateways.cli.terminal.arguments import SESSIONS, cli_argument, cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.dates import format_time_for_terminal
from opencrab.gateways.cli.terminal.lookup import agent_names_for_terminal, find_agent_for_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal

SessionId = Annotated[str, typer.Argument(metavar="SESSION", help="A session's id."), SESSIONS]


@cli_command
def list_sessions(
    terminal: Terminal,
    *,
    agent: Annotated[str | None, cli_option("Only sessions with this agent.", "AGENT")] = None,
) -> None:
    """List the conversations, newest first."""
    agent_id = None if agent is None else find_agent_for_terminal(terminal, agent)["id"]
    sessions = sorted(
        terminal.client.items("sessions", agent_id=agent_id),
        key=lambda session: session["updated_at"],
        reverse=True,
    )
    terminal.show_list(sessions, _draw, "no_sessions")


@cli_command
def show_session(
    terminal: Terminal,
    session: SessionId,
    *,
    last: Annotated[int, cli_option("How many lines.", min=1)] = 50,
    everything: Annotated[
        bool, typer.Option("--all", help="Include what agents think and do (owner).")
    ] = False,
    fairness: Annotated[bool, cli_option("Show how evenly the agents spoke instead.")] = False,
) -> None:
    """Show a conversation, or how evenly its agents spoke."""
    if fairness:
        _show_fairness(terminal, session)
        return
    found = terminal.client.get("sessions", session)
    lines = read_session_lines(terminal, session, last, everything=everything)
    if terminal.options.json:
        terminal.json({**found, "lines": lines})
        return
    from opencrab.gateways.cli.terminal.lines import draw_session_line_on_terminal

    for line in lines:
        draw_session_line_on_terminal(terminal, line, session)
    if found.get("members"):
        terminal.print_sentence("session_members", members=", ".join(found["members"]))
    if found.get("speaks_freely"):
        terminal.print_sentence("speaks_freely", id=found["id"])
    if found.get("ended_by"):
        terminal.print_sentence("discussion_over", why=terminal.words.term(found["ended_by"]))
        if found.get("hop_limit") and found["ended_by"] != "by_hand":
            terminal.print_sentence("outcome_hint", id=found["id"])


@cli_command
def rename_session(
    terminal: Terminal,
    session: SessionId,
    name: Annotated[
        str, cli_argument("Its title; '' takes that of the first message again.", "TITLE")
    ],
) -> None:
    """Give a conversation a title."""
    changed = terminal.client.patch("sessions", session, body={"name": name.strip() or None})
    terminal.print_result(
        changed, "session_renamed", id=changed["id"], title=changed.get("title") or "—"
    )


@cli_command
def end_session(terminal: Terminal, session: SessionId) -> None:
    """End a conversation; it stays readable."""
    ended = terminal.client.post("sessions", session, "end")
    terminal.print_result(ended, "session_ended", id=ended["id"])


@cli_command
def invite_to_conversation(
    terminal: Terminal,
    session: SessionId,
    principal: Annotated[
        str, cli_argument("A person's principal, from `admin keys list`.", "PRINCIPAL")
    ],
) -> None:
    """Share a conversation with a person, who reads all of it and writes in it."""
    shared = terminal.client.put("sessions", session, "members", principal, body={})
    terminal.print_result(shared, "session_shared", id=shared["id"], principal=principal)


@cli_command
def uninvite_from_conversation(
    terminal: Terminal,
    session: SessionId,
    principal: Annotated[
        str, cli_argument("A person's principal, from `admin keys list`.", "PRINCIPAL")
    ],
) -> None:
    """Stop sharing a conversation with a person."""
    kept = terminal.client.delete("sessions", session, "members", principal)
    terminal.print_result(kept, "session_unshared", id=kept["id"], principal=principal)


@cli_command
def let_conversation_speak_freely(
    terminal: Terminal,
    session: SessionId,
    *,
    off: Annotated[bool, cli_option("Use a memory only if every reader may know it.")] = False,
) -> None:
    """Let agents use private memories in a conversation although others read it (owner)."""
    body = {"speaks_freely": not off}
    changed = terminal.client.put("sessions", session, "speak-freely", body=body)
    key = "speaks_freely" if changed["speaks_freely"] else "speaks_with_care"
    terminal.print_result(changed, key, id=changed["id"])


@cli_command
def give_guidance_in_session(
    terminal: Terminal,
    session: SessionId,
    text: Annotated[str, cli_argument("The guidance.", "TEXT")],
) -> None:
    """Give a session's agents guidance that only they and the owner can read."""
    placed = terminal.client.post("sessions", session, "mentor", body={"text": text})
    terminal.print_result(placed, "mentored")


def read_session_lines(
    terminal: Terminal, session_id: str, last: int, *, everything: bool = False
) -> list[dict[str, Any]]:
    """Return the newest lines of a session, oldest first."""
    kinds = "speech,system,approval,inner_voice,action" if everything else None
    newest: Iterator[dict[str, Any]] = terminal.client.items(
        "sessions", session_id, "messages", order="newest", kinds=kinds
    )
    return list(islice(newest, last))[::-1]


def _show_fairness(terminal: Terminal, session_id: str) -> None:
    told = terminal.client.get("sessions", session_id, "fairness")
    if terminal.options.json:
        terminal.json(told)
        return

    names = agent_names_for_terminal(terminal)
    rows = [
        (
            names.get(part["agent_id"], "?"),
            terminal.words.term(part["role"]),
            part["turns"],
            part["speeches"],
            part["characters"],
            f"{part['characters_share']:.0%}",
            part["silent_seconds"],
        )
        for part in told["participants"]
    ]
    heads = ("agent", "role", "turns", "speeches", "characters", "share", "silent")
    terminal.table(heads, rows)
    terminal.print_sentence("fairness", index=f"{told['index']:.2f}")


def _draw(terminal: Terminal, sessions: list[dict[str, Any]]) -> None:

    names = agent_names_for_terminal(terminal)
    heads = ("id", "agent", "title", "changed")
    rows = [
        (
            session["id"],
            ", ".join(names.get(part["agent_id"], "?") for part in session["participants"]),
            _title(terminal, session),
            format_time_for_terminal(session["updated_at"]),
        )
        for session in sessions
    ]
    terminal.table(heads, rows)


def _title(terminal: Terminal, session: dict[str, Any]) -> str:
    title = str(session.get("title") or session["name"] or session["theme"])
    if session["status"] == "active":
        return title
    return terminal.words("title_ended", title=title)
