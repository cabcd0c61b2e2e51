"""Commands about an agent's skills: list, show, add, switch, approve, retire and restore them."""

import re
from typing import Annotated, Any

import typer

from opencrab.gateways.cli.skills.actions import list_actions
from opencrab.gateways.cli.terminal.arguments import AgentName, Yes, cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.dates import format_time_for_terminal
from opencrab.gateways.cli.terminal.input import (
    ask_yes_or_no_on_terminal,
    require_terminal_user,
    terminal_text_argument_or_pipe,
)
from opencrab.gateways.cli.terminal.lookup import find_agent_for_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal
from opencrab.gateways.cli.terminal.text import visible_terminal_text

SkillView = dict[str, Any]
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
SkillName = Annotated[str, typer.Argument(metavar="SKILL", help="A skill's name.")]

_LIVE = {"active", "candidate"}
_STATUSES = {
    "active": "skill_on",
    "candidate": "skill_tried",
    "disabled": "skill_off",
    "quarantined": "skill_waiting",
    "archived": "skill_archived",
}
_KINDS = {"standard": "skill_standard", "acquired": "skill_acquired"}


@cli_command
def list_skills(terminal: Terminal, agent: AgentName) -> None:
    """List an agent's skills, standard and learned."""
    found = find_agent_for_terminal(terminal, agent)
    skills = list(terminal.client.items("agents", found["id"], "skills"))
    terminal.show_list(skills, _draw, "no_skills", name=found["name"])


@cli_command
def show_skill(terminal: Terminal, agent: AgentName, skill: SkillName) -> None:
    """Show one skill with its text."""
    shown = terminal.client.get(*_skill_place(terminal, agent, skill))
    terminal.show(shown, _tell)


@cli_command
def add_skill(
    terminal: Terminal,
    agent: AgentName,
    skill: SkillName,
    *,
    description: Annotated[str, cli_option("What it is for and when to use it.")],
    when: Annotated[
        str, cli_option("When it applies: words of a message, alternatives separated by |.")
    ] = "",
    text: Annotated[
        str | None, cli_option("The skill's text, in Markdown; default: standard input.")
    ] = None,
    action: Annotated[
        list[str] | None, cli_option("An action that it uses; repeatable.", "NAME")
    ] = None,
    trial: Annotated[
        bool, typer.Option("--trial", help="Withhold it from some fitting turns, to measure it.")
    ] = False,
) -> None:
    """Give an agent a skill."""
    place = _place(terminal, agent)
    guidance = terminal_text_argument_or_pipe(
        terminal, text, needed="skill_text_needed", option="--text"
    )
    body: dict[str, Any] = {
        "name": skill,
        "description": description,
        "situation_pattern": when,
        "guidance": guidance,
    }
    if action:
        body["actions"] = action
    if trial:
        body["trial"] = True
    added = terminal.client.post(*place, body=body)
    terminal.print_result(
        added, "skill_added", name=_shown_name(added), status=_status(terminal, added)
    )


@cli_command
def toggle_skill(
    terminal: Terminal,
    agent: AgentName,
    skill: SkillName,
    *,
    on: Annotated[
        bool | None, typer.Option("--on/--off", help="On or off; default: toggle.")
    ] = None,
) -> None:
    """Enable a skill without a trial, disable it, or toggle it."""
    place = _skill_place(terminal, agent, skill)
    if on is None:
        on = terminal.client.get(*place)["status"] not in _LIVE
    _print_skill_status(terminal, terminal.client.post(*place, "toggle", body={"on": on}))


@cli_command
def approve_skill(
    terminal: Terminal,
    agent: AgentName,
    skill: SkillName,
    *,
    yes: Yes = False,
) -> None:
    """Approve a skill that waits for it."""
    place = _skill_place(terminal, agent, skill)
    if not yes:
        require_terminal_user(terminal, "skill_read_first")
    shown = terminal.client.get(*place)
    if not yes:
        _tell(terminal, shown)
        question = terminal.words("really_approve", name=_shown_name(shown))
        if not ask_yes_or_no_on_terminal(question, default=False):
            terminal.print_sentence("unchanged", name=_shown_name(shown))
            return
    version = int(shown["version"]) if shown["kind"] == "acquired" else None
    _print_skill_status(terminal, terminal.client.post(*place, "approve", version=version))


@cli_command
def retire_skill(terminal: Terminal, agent: AgentName, skill: SkillName) -> None:
    """Retire a learned skill; `restore` brings it back."""
    _print_skill_status(terminal, terminal.client.delete(*_skill_place(terminal, agent, skill)))


@cli_command
def restore_skill(terminal: Terminal, agent: AgentName, skill: SkillName) -> None:
    """Restore a retired skill."""
    _print_skill_status(
        terminal, terminal.client.post(*_skill_place(terminal, agent, skill), "restore")
    )


COMMANDS = {
    "list": list_skills,
    "show": show_skill,
    "add": add_skill,
    "toggle": toggle_skill,
    "approve": approve_skill,
    "retire": retire_skill,
    "restore": restore_skill,
    "actions": list_actions,
}


def _place(terminal: Terminal, agent: str) -> tuple[str, str, str]:
    return "agents", find_agent_for_terminal(terminal, agent)["id"], "skills"


def _skill_place(terminal: Terminal, agent: str, skill: str) -> tuple[str, str, str, str]:
    """Return where a skill is, by its name or by the title that it was given."""
    place = _place(terminal, agent)
    if _NAME.fullmatch(skill):
        return (*place, skill)
    wanted = skill.strip().casefold()
    found = (
        each["name"] for each in terminal.client.items(*place) if _title(each).casefold() == wanted
    )
    return (*place, next(found, skill))


def _title(skill: SkillView) -> str:
    return str(skill.get("title") or skill["name"])


def _shown_name(skill: SkillView) -> str:
    """Return the title with the name behind it, where the two differ."""
    title, name = _title(skill), skill["name"]
    return title if title == name else f"{title} ({name})"


def _print_skill_status(terminal: Terminal, skill: SkillView) -> None:
    terminal.print_result(
        skill, "skill_is", name=_shown_name(skill), status=_status(terminal, skill)
    )


def _status(terminal: Terminal, skill: SkillView) -> str:
    return terminal.words("skill_queued" if skill["waits"] else _STATUSES[skill["status"]])


def _effect(terminal: Terminal, skill: SkillView) -> str:
    """Format the measured effect with its interval; empty if it was not measured."""
    effect = skill["effectiveness"]
    if effect is None:
        return ""
    points, low, high = (f"{effect[key]:+.0f}" for key in ("points", "low", "high"))
    return terminal.words("skill_effect", points=points, low=low, high=high)


def _draw(terminal: Terminal, skills: list[SkillView]) -> None:

    words = terminal.words
    rows = [
        (
            _shown_name(skill),
            words(_KINDS[skill["kind"]]),
            _status(terminal, skill),
            skill["version"],
            skill["usage_count"] or "",
            _effect(terminal, skill),
            skill["description"],
        )
        for skill in skills
    ]
    heads = ("skill", "kind", "status", "skill_version", "usage", "effect", "description")
    terminal.table(heads, rows)


def _tell(terminal: Terminal, skill: SkillView) -> None:

    words = terminal.words
    source = skill["source_type"]
    pairs = [
        ("skill", _shown_name(skill)),
        ("kind", words(_KINDS[skill["kind"]])),
        ("status", _status(terminal, skill)),
        ("skill_version", skill["version"]),
        ("description", skill["description"]),
        ("situation", skill["situation_pattern"]),
        ("actions", ", ".join(skill["actions"])),
        ("source", words.term(source) if source else ""),
        ("taught_by", skill["taught_by"]),
        ("turn", skill["turn_id"]),
        ("approved_by", skill["approved_by"]),
        ("usage", skill["usage_count"] or ""),
        ("effect", _effect(terminal, skill)),
        ("changed", format_time_for_terminal(skill["updated_at"])),
    ]
    terminal.print_fields(pairs, exact=True)
    terminal.line()
    terminal.line(visible_terminal_text(skill["guidance"]))
