"""The conversation to continue: the last one that this person had with an agent, in words."""

from typing import Any

from opencrab.domain.errors import NotFound
from opencrab.gateways.cli.terminal.dates import format_age_for_terminal, format_time_for_terminal
from opencrab.gateways.cli.terminal.lookup import AgentView
from opencrab.gateways.cli.terminal.terminal import Terminal


def find_last_session(terminal: Terminal, agent: AgentView) -> dict[str, Any] | None:
    """Return the newest conversation that this key's holder opened with this agent alone.

    Conversations that have ended, that belong to a task, or that are held elsewhere, as on Discord,
    are not continued.
    """
    found = terminal.client.items("sessions", agent_id=agent["id"], mine="true")
    return max(
        (session for session in found if _is_continued(session, agent["id"])),
        key=lambda session: str(session["updated_at"]),
        default=None,
    )


def require_last_conversation(terminal: Terminal, agent: AgentView) -> dict[str, Any]:
    """Return the conversation to continue; raises NotFound if there is none."""
    session = find_last_session(terminal, agent)
    if session is None:
        raise NotFound(
            terminal.words("nothing_to_continue", name=agent["name"]),
            cure=terminal.words("nothing_to_continue_cure"),
        )
    return session


def describe_last_conversation(terminal: Terminal, session: dict[str, Any]) -> str:
    """Say in one line which conversation continues, and how long ago its last turn was."""
    at, now = session["updated_at"], terminal.options.now
    age = format_age_for_terminal(terminal, at, now()) if now else format_time_for_terminal(at)
    title = session.get("title") or session["id"]
    return terminal.words("continues", title=title, age=age)


def _is_continued(session: dict[str, Any], agent_id: str) -> bool:
    return (
        session["status"] == "active"
        and [each["agent_id"] for each in session["participants"]] == [agent_id]
        and session["goal"] is None
        and session["guild_id"] is None
        and session["hearing"] == "session"
    )
