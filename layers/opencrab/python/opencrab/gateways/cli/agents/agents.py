"""Commands about agents: list, create, show, edit and retire them."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from opencrab.domain.errors import Invalid
from opencrab.gateways.cli.agents.soul_option import (
    TRAITS_HELP,
    soul_with_persona,
    soul_with_traits,
)
from opencrab.gateways.cli.language.sentences import AgentLanguage, CliLanguage, SentenceCatalog
from opencrab.gateways.cli.terminal.amounts import parse_terminal_amount
from opencrab.gateways.cli.terminal.arguments import AgentName, Yes
from opencrab.gateways.cli.terminal.command import cli_command, cli_command_with, cli_parameter
from opencrab.gateways.cli.terminal.input import (
    ask_line_on_terminal,
    ask_needed_on_terminal,
    ask_one_of_on_terminal,
    confirm_on_terminal,
)
from opencrab.gateways.cli.terminal.lookup import (
    AgentView,
    find_agent_for_terminal,
    require_unused_name_for_terminal,
)
from opencrab.gateways.cli.terminal.terminal import Terminal


class InterruptPolicy(StrEnum):
    """What a next message does to a running answer: the domain's, which would be slow to load."""

    AT_ONCE = "at_once"
    AFTER_STEP = "after_step"
    QUEUE = "queue"


_DRAFT = {
    **cli_parameter("name", str | None, help="The agent's name."),
    **cli_parameter("persona", str | None, help="Its persona, in a few words."),
    **cli_parameter("language", AgentLanguage | None, help="The language that the agent speaks."),
    **cli_parameter("purpose", str | None, help="Its purpose, in one sentence."),
    **cli_parameter("traits", str | None, help=TRAITS_HELP),
    **cli_parameter("model", str | None, help="provider:model, or 'default'."),
    **cli_parameter(
        "policy",
        str | None,
        help="What runs without asking: strict, guarded, open, or a list such as "
        "read,self,web_search.",
    ),
    **cli_parameter(
        "interrupt",
        InterruptPolicy | None,
        help="What your next message does to a running answer: end it at_once, end it after_step, "
        "or queue behind it.",
    ),
}
_EDIT = {
    **_DRAFT,
    **cli_parameter(
        "day",
        str | None,
        metavar="USD",
        help="What it may spend on models in a day, or 'default' for the installation's limit.",
    ),
    **cli_parameter(
        "time_zone",
        str | None,
        "--time-zone",
        metavar="ZONE",
        help="Its time zone, for example Asia/Tokyo, or 'default' for the installation's.",
    ),
    **cli_parameter(
        "vault",
        str | None,
        metavar="DIR",
        help="A folder of this computer as its vault, such as your Obsidian vault, or 'default' "
        "for its own. Nothing in it is moved.",
    ),
    **cli_parameter(
        "workspace",
        str | None,
        metavar="DIR",
        help="A folder of this computer as its workspace, or 'default' for its own. Nothing in it "
        "is moved.",
    ),
}
_SETTINGS = ("name", "language", "purpose", "model", "policy", "interrupt")
_EDITABLE = (*_SETTINGS, "approvals", "status", "day_limit_micro_usd", "time_zone")
_FOLDERS = ("vault", "workspace")
_POLICIES = {"strict", "guarded", "open"}


@cli_command
def list_agents(
    terminal: Terminal,
    *,
    everyone: Annotated[bool, typer.Option("--all", help="Include retired ones.")] = False,
) -> None:
    """List the agents."""
    agents = [
        agent
        for agent in terminal.client.items("agents")
        if everyone or agent["status"] != "retired"
    ]
    if terminal.options.json:
        terminal.json(agents)
    elif not agents:
        terminal.print_sentence("no_agents")
        terminal.print_sentence("no_agents_cure")
    else:
        _draw(terminal, agents)


@cli_command_with(_DRAFT)
def create_agent(terminal: Terminal, /, **draft: Any) -> None:
    """Create an agent, interactively or by options."""
    if draft["name"] is None:
        if not terminal.interactive:
            raise typer.BadParameter(terminal.words("name_needed"), param_hint="--name")
        agent = ask_for_new_agent(terminal, draft)
    else:
        agent = create_agent_from_draft(terminal, draft)
    terminal.print_result(agent, "agent_created", name=agent["name"], id=agent["id"])
    if not (terminal.options.json or terminal.options.quiet):
        terminal.print_sentence("agent_created_next", name=agent["name"])


@cli_command
def show_agent(terminal: Terminal, agent: AgentName) -> None:
    """Show one agent with its personality."""
    found = find_agent_for_terminal(terminal, agent)
    if terminal.options.json:
        terminal.json(found)
    else:
        from opencrab.gateways.cli.agents.profile_view import draw_agent_profile

        draw_agent_profile(terminal, found)


@cli_command_with(_EDIT)
def edit_agent(terminal: Terminal, /, agent: AgentName, **draft: Any) -> None:
    """Change an agent by options, or all of it in your editor."""
    found = find_agent_for_terminal(terminal, agent)
    from opencrab.gateways.cli.agents.folder_options import attach_folders_to_agent

    folders = {name: draft.pop(name) for name in _FOLDERS}
    attached = attach_folders_to_agent(terminal, found["id"], folders)
    if any(value is not None for value in draft.values()):
        wanted = _with_draft(terminal, found, draft)
    elif attached:
        terminal.print_result(found, "agent_changed", name=found["name"])
        return
    elif terminal.interactive:
        from opencrab.gateways.cli.terminal.editor import edit_in_terminal_editor

        wanted = edit_in_terminal_editor(terminal, _editable(found))
    else:
        raise typer.BadParameter(terminal.words("nothing_to_edit"), param_hint="--name")
    changed = _save(terminal, found, wanted)
    terminal.print_result(
        changed, "agent_changed" if changed != found else "unchanged", name=changed["name"]
    )


@cli_command
def retire_agent(
    terminal: Terminal,
    agent: AgentName,
    *,
    yes: Yes = False,
) -> None:
    """Retire an agent for good; its conversations and files are kept."""
    found = find_agent_for_terminal(terminal, agent)
    question = terminal.words("really_retire", name=found["name"])
    if not confirm_on_terminal(terminal, question, yes=yes, needed="yes_needed"):
        terminal.print_sentence("unchanged", name=found["name"])
        return
    retired = terminal.client.delete("agents", found["id"])
    terminal.print_result(retired, "agent_retired", name=retired["name"])


def ask_for_new_agent(terminal: Terminal, draft: dict[str, Any]) -> AgentView:
    """Ask for what an agent needs, in the language that is chosen first."""
    tongues = [tongue.value for tongue in AgentLanguage]
    guess = draft.get("language") or terminal.options.language.for_agents
    question = terminal.words("ask_language")
    language = ask_one_of_on_terminal(terminal, question, tongues, default=str(guess))
    words = SentenceCatalog(CliLanguage(language))
    name = ask_needed_on_terminal(terminal, words("ask_name"))
    persona = draft.get("persona") or ask_line_on_terminal(words("ask_persona"))
    purpose = draft.get("purpose") or ask_line_on_terminal(words("ask_purpose"))
    answers = {"language": language, "name": name, "persona": persona, "purpose": purpose}
    return create_agent_from_draft(terminal, {**draft, **answers})


def create_agent_from_draft(terminal: Terminal, draft: dict[str, Any]) -> AgentView:
    """Create an agent with the options of a draft, of which only `name` must be given."""
    body: dict[str, Any] = {"language": terminal.options.language.for_agents}
    body |= {name: draft[name] for name in _SETTINGS if draft.get(name)}
    if "policy" in body:
        body["policy"] = _policy(body["policy"])
    if body.get("model") == "default":
        del body["model"]
    soul: dict[str, Any] = {}
    if draft.get("persona"):
        soul = soul_with_persona(soul, draft["persona"])
    if draft.get("traits"):
        soul = soul_with_traits(soul, draft["traits"])
    require_unused_name_for_terminal(terminal, body["name"])
    return terminal.client.post("agents", body={**body, "soul": soul} if soul else body)


def _policy(text: str) -> str | list[str]:
    """Return the name of a policy, or the list of impacts and actions that run unasked."""
    said = text.strip()
    return said if said in _POLICIES else [name.strip() for name in said.split(",") if name.strip()]


def _editable(agent: AgentView) -> dict[str, Any]:
    """Return the fields of an agent that may be edited; retiring is a command of its own."""
    settings = {name: agent[name] for name in _EDITABLE if name in agent}
    return {**settings, "soul": agent["soul"], "identity": agent["identity"]}


def _with_draft(terminal: Terminal, agent: AgentView, draft: dict[str, Any]) -> dict[str, Any]:
    """Return an agent's fields changed by a draft; a new name also replaces the persona's.

    The names of the identity and the persona change only if they were the agent's name.
    """
    wanted = _editable(agent)
    wanted |= _draft_settings(terminal, draft)
    if draft["name"] is not None:
        for part, name in (("identity", "name"), ("soul", "persona_name")):
            if agent[part][name] == agent["name"]:
                wanted[part] = {**wanted[part], name: draft["name"]}
    if draft["persona"]:
        wanted["soul"] = soul_with_persona(wanted["soul"], draft["persona"])
    if draft["traits"]:
        wanted["soul"] = soul_with_traits(wanted["soul"], draft["traits"])
    return wanted


def _draft_settings(terminal: Terminal, draft: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that a draft names; None resets one to the installation's."""
    named = {name: draft[name] for name in _SETTINGS if draft[name] is not None}
    if draft["model"] == "default":
        named["model"] = None
    if draft["policy"] is not None:
        named["policy"] = _policy(draft["policy"])
    if draft["day"] is not None:
        named["day_limit_micro_usd"] = _day_limit(terminal, draft["day"])
    if draft["time_zone"] is not None:
        given = draft["time_zone"].strip()
        named["time_zone"] = None if given == "default" else given
    return named


def _day_limit(terminal: Terminal, text: str) -> int | None:
    """Parse a limit in US dollars; None for the installation's."""
    if text.strip() == "default":
        return None
    from decimal import Decimal

    amount = parse_terminal_amount(text.strip(), Decimal("0.000001"), Decimal(1_000_000))
    if amount is None:
        raise typer.BadParameter(terminal.words("limit_value", name="day"), param_hint="--day")
    return amount


def _save(terminal: Terminal, agent: AgentView, wanted: dict[str, Any]) -> AgentView:
    """Save the fields that differ, if the agent is still at the version that was read."""
    unknown = sorted(wanted.keys() - _editable(agent).keys())
    if unknown:
        raise Invalid(
            terminal.words("unknown_fields", names=", ".join(unknown)),
            cure=terminal.words("unknown_fields_cure"),
        )
    client, agent_id, version = terminal.client, agent["id"], agent["version"]
    if isinstance(name := wanted.get("name"), str) and name != agent["name"]:
        require_unused_name_for_terminal(terminal, name, agent_id)
    for part in ("soul", "identity"):
        if part in wanted and wanted[part] != agent[part]:
            client.put("agents", agent_id, part, body=wanted[part], version=version)
            version = None
    settings = {
        name: wanted[name] for name in _EDITABLE if name in wanted and wanted[name] != agent[name]
    }
    if settings:
        client.patch("agents", agent_id, body=settings, version=version)
    return client.get("agents", agent_id)


def _draw(terminal: Terminal, agents: list[AgentView]) -> None:
    rows = [
        (
            agent["id"],
            agent["name"],
            terminal.words.term(agent["status"]),
            agent["language"],
            agent["model"] or terminal.words("default_model"),
            agent["purpose"],
        )
        for agent in agents
    ]
    terminal.table(("id", "name", "status", "language", "model", "purpose"), rows)
