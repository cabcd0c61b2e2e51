"""The last steps of a setup: the first agent, and one call of the model that answers it."""

from dataclasses import dataclass
from typing import Any

from opencrab.domain.errors import OpenCrabError
from opencrab.gateways.cli.agents.agents import create_agent_from_draft
from opencrab.gateways.cli.terminal.command import print_cli_error
from opencrab.gateways.cli.terminal.input import ask_line_on_terminal
from opencrab.gateways.cli.terminal.lookup import AgentView
from opencrab.gateways.cli.terminal.terminal import Terminal

_ASK_SECONDS = 45.0
_MARKS = {"ok": "✓", "warning": "!", "problem": "✗"}


@dataclass(frozen=True)
class SetupAgent:
    """The agent that a setup creates; without a name it creates none."""

    name: str = ""
    purpose: str = ""


def ask_for_setup_agent(terminal: Terminal, given: SetupAgent, *, is_first: bool) -> SetupAgent:
    """Ask for an agent's name and purpose; who has agents already may leave out another."""
    key, usual = ("setup_agent", "setup_agent_name") if is_first else ("setup_agent_more", "")
    default = given.name or (terminal.words(usual) if usual else "")
    name = ask_line_on_terminal(terminal.words(key), default)
    if not name:
        return SetupAgent()
    purpose = given.purpose or ask_line_on_terminal(terminal.words("ask_purpose"))
    return SetupAgent(name, purpose)


def try_to_create_setup_agent(
    terminal: Terminal, wanted: SetupAgent
) -> tuple[AgentView | None, OpenCrabError | None]:
    """Create the agent, if one is wanted; returns it, or what is wrong with its name."""
    if not wanted.name:
        return None, None
    draft: dict[str, Any] = {"name": wanted.name, "purpose": wanted.purpose}
    try:
        created = create_agent_from_draft(terminal, draft)
    except OpenCrabError as error:
        return None, error
    terminal.print_note("agent_created", name=created["name"], id=created["id"])
    return created, None


def create_setup_agent_after(
    terminal: Terminal, wanted: SetupAgent, trouble: OpenCrabError
) -> AgentView | None:
    """Ask for another name until an agent can have it; an empty one creates none."""
    error: OpenCrabError | None = trouble
    created = None
    while error is not None:
        print_cli_error(terminal, error)
        name = ask_line_on_terminal(terminal.words("setup_agent_more"))
        created, error = try_to_create_setup_agent(terminal, SetupAgent(name, wanted.purpose))
    return created


def call_models_of_setup(terminal: Terminal) -> list[dict[str, Any]]:
    """Ask each chosen model for a few tokens, which an agent's budget pays, and print the answers.

    Returns the server's checks of them; none if only the scripted stand-in answers.
    """
    terminal.print_note("setup_calls")
    terminal.client.patience_seconds = _ASK_SECONDS
    found = terminal.client.post("system", "checks", body={"ask_models": True})
    checks = [each for each in found["checks"] if each["name"] == "model"]
    for each in checks:
        terminal.print_note_text(f"  {_MARKS[each['state']]} {each['what']}")
        if each["state"] != "ok" and each.get("cure"):
            terminal.print_note_text(f"    → {each['cure']}")
    return checks
