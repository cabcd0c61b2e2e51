"""Chat: talk to an agent, by hand or from a script."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from opencrab.domain.errors import NotFound
from opencrab.gateways.cli.terminal.arguments import SESSIONS, AnyAgent, cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.input import ask_number_on_terminal, ask_yes_or_no_on_terminal
from opencrab.gateways.cli.terminal.lookup import (
    AgentView,
    find_agent_for_terminal,
    living_agents_for_terminal,
    open_session_from_terminal,
)
from opencrab.gateways.cli.terminal.terminal import Terminal

if TYPE_CHECKING:
    from opencrab.gateways.cli.conversation.attachments import Attachments


@cli_command
def chat(
    terminal: Terminal,
    agent: AnyAgent = None,
    *,
    session: Annotated[str | None, cli_option("Continue this conversation."), SESSIONS] = None,
    new: Annotated[bool, cli_option("Begin a new conversation.")] = False,
    last: Annotated[
        bool, typer.Option("--continue", "-c", help="Continue the last one, also with --say.")
    ] = False,
    say: Annotated[
        str | None,
        cli_option("Send one message, followed by piped input, print the answer and exit."),
    ] = None,
    attach: Annotated[
        list[str] | None,
        cli_option("Send a picture or text file with the first message; repeatable.", "PATH"),
    ] = None,
    speaker: Annotated[
        str | None, typer.Option("--as", help="Your name, as the agent sees it.")
    ] = None,
) -> None:
    """Talk to an agent, in the last conversation with it; piped input is answered line by line."""
    if new + last + bool(session) > 1:
        raise typer.BadParameter(terminal.words("one_conversation"), param_hint="--new")
    if say is None and terminal.interactive:
        from opencrab.gateways.cli.server.temporary import server_for_command

        with server_for_command(terminal, "server_while_chat"):
            converse_at_terminal(
                terminal, agent, session, speaker, attach or [], new=new, last=last
            )
        return
    attachments = _attachments(terminal, attach or [])
    someone = None if session and not agent else _agent(terminal, agent)
    if say is None and terminal.options.no_input and terminal.input.isatty():
        raise typer.BadParameter(terminal.words("nothing_to_say"), param_hint="--say")
    from opencrab.gateways.cli.conversation.script_chat import ScriptSpeaker, chat_text_with_pipe

    def opened() -> str:
        if last:
            return str(_last(terminal, someone, new, last))
        return session or str(open_session_from_terminal(terminal, _require_agent(someone))["id"])

    mouth = ScriptSpeaker(terminal, opened, speaker, attachments)
    code = mouth.say_lines() if say is None else mouth.say(chat_text_with_pipe(terminal, say))
    if code:
        raise typer.Exit(code)


def converse_at_terminal(
    terminal: Terminal,
    agent: str | None,
    session: str | None = None,
    speaker: str | None = None,
    attach: Sequence[str] = (),
    *,
    new: bool = False,
    last: bool = False,
) -> None:
    """Talk at the terminal until the person leaves."""
    from opencrab.gateways.cli.conversation.interactive_chat import Dialogue

    attachments = _attachments(terminal, attach)
    someone = None if session and not agent else _agent(terminal, agent)
    place = session or _last(terminal, someone, new, last)
    if place is None and someone is not None and not someone["purpose"]:
        terminal.print_note("no_purpose", name=someone["name"])
    Dialogue(terminal, someone, place, speaker, attachments).run()


def _attachments(terminal: Terminal, paths: Sequence[str]) -> "Attachments | None":
    if not paths:
        return None
    from opencrab.gateways.cli.conversation.attachments import Attachments

    return Attachments(terminal, list(paths))


def _last(
    terminal: Terminal,
    agent: AgentView | None,
    new: bool,  # noqa: FBT001 - as the options
    last: bool,  # noqa: FBT001
) -> str | None:
    """Return the id of the conversation to continue, None for a new one."""
    if new or agent is None:
        return None
    from opencrab.gateways.cli.conversation import last_session

    found = (last_session.require_last_conversation if last else last_session.find_last_session)(
        terminal, agent
    )
    return None if found is None else str(found["id"])


def _agent(terminal: Terminal, wanted: str | None) -> AgentView:
    """Return the agent that was named, the only one, or one that the user chooses or creates."""
    if wanted is not None:
        return find_agent_for_terminal(terminal, wanted)
    agents = living_agents_for_terminal(terminal)
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
    return agents[ask_number_on_terminal(terminal, terminal.words("which_agent"), len(agents)) - 1]


def _first(terminal: Terminal) -> AgentView:
    from opencrab.gateways.cli.agents.agents import ask_for_new_agent

    terminal.print_sentence("no_agents")
    if not ask_yes_or_no_on_terminal(terminal.words("create_one"), default=True):
        raise typer.Exit
    agent = ask_for_new_agent(terminal, {})
    terminal.print_sentence("agent_created", name=agent["name"], id=agent["id"])
    return agent


def _require_agent(agent: AgentView | None) -> AgentView:
    assert agent is not None  # noqa: S101 - an agent or a session is always there
    return agent
