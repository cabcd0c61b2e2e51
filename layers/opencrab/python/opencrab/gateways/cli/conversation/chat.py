"""Chat: talk to an agent, by hand or from a script."""

from typing import Annotated

import typer

from opencrab.domain.errors import NotFound
from opencrab.gateways.cli.terminal.arguments import SESSIONS, AnyAgent, cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.input import ask_number, ask_yes_or_no
from opencrab.gateways.cli.terminal.lookup import (
    AgentView,
    find_agent,
    living_agents,
    open_session_with_agent,
)
from opencrab.gateways.cli.terminal.terminal import Terminal


@cli_command
def chat(
    terminal: Terminal,
    agent: AnyAgent = None,
    session: Annotated[str | None, cli_option("Continue this conversation."), SESSIONS] = None,
    say: Annotated[str | None, cli_option("Send one message, print the answer and exit.")] = None,
    speaker: Annotated[
        str | None, typer.Option("--as", help="Your name, as the agent sees it.")
    ] = None,
) -> None:
    """Talk to an agent; piped input is answered line by line."""
    someone = None if session and not agent else _agent(terminal, agent)
    if say is None and terminal.interactive and not terminal.options.json:
        from opencrab.gateways.cli.conversation.interactive_chat import Dialogue

        Dialogue(terminal, someone, session, speaker).run()
        return
    from opencrab.gateways.cli.conversation.script_chat import ScriptSpeaker

    def place() -> str:
        return session or str(open_session_with_agent(terminal, _require_agent(someone))["id"])

    mouth = ScriptSpeaker(terminal, place, speaker)
    lines = (each for each in terminal.input if each.strip()) if say is None else (say,)
    # Every line is said, whatever became of those before it.
    answered = [mouth.say(line.rstrip("\r\n")) for line in lines]
    if not all(answered):
        raise typer.Exit(1)


def _agent(terminal: Terminal, wanted: str | None) -> AgentView:
    """Return the agent that was named, the only one, or one that the user chooses or creates."""
    if wanted is not None:
        return find_agent(terminal, wanted)
    agents = living_agents(terminal)
    if len(agents) == 1:
        return agents[0]
    if not terminal.interactive:
        key = "choose_agent" if agents else "no_agents"
        raise NotFound(terminal.words(key), cure=terminal.words(f"{key}_cure"))
    return _choice(terminal, agents) if agents else _first(terminal)


def _choice(terminal: Terminal, agents: list[AgentView]) -> AgentView:
    for number, agent in enumerate(agents, start=1):
        purpose = f" — {agent['purpose']}" if agent["purpose"] else ""
        terminal.line(f"  {number}  {agent['name']}{purpose}")
    return agents[ask_number(terminal, terminal.words("which_agent"), len(agents)) - 1]


def _first(terminal: Terminal) -> AgentView:
    from opencrab.gateways.cli.agents.agents import create_agent_by_dialogue

    terminal.print_sentence("no_agents")
    if not ask_yes_or_no(terminal.words("create_one"), default=True):
        raise typer.Exit
    agent = create_agent_by_dialogue(terminal, {})
    terminal.print_sentence("agent_created", name=agent["name"], id=agent["id"])
    return agent


def _require_agent(agent: AgentView | None) -> AgentView:
    assert agent is not None  # noqa: S101 - an agent or a session is always there
    return agent
