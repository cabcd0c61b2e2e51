"""Commands that make agents from presets: the eight founders at once, or one for a newcomer."""

from typing import TYPE_CHECKING, Annotated, Any

from opencrab.domain.errors import Conflict
from opencrab.gateways.cli.terminal.arguments import cli_argument, cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.terminal import Terminal

if TYPE_CHECKING:
    from opencrab.domain.value import Language
    from opencrab.engine.agents.presets import Preset


@cli_command
def seed_preset_agents(terminal: Terminal) -> None:
    """Create the eight preset agents, once."""
    from opencrab.engine.agents.presets import founder_presets

    _tell(
        terminal,
        {each.key: _create_preset_agent(terminal, each, None) for each in founder_presets()},
    )


@cli_command
def seed_agent(
    terminal: Terminal,
    preset: Annotated[str, cli_argument("A preset's name.", "PRESET")],
    *,
    name: Annotated[str | None, cli_option("The agent's name.")] = None,
) -> None:
    """Create one agent from a preset."""
    from opencrab.engine.agents.presets import find_preset as found

    _tell(terminal, {preset: _create_preset_agent(terminal, found(preset), name)})


@cli_command
def list_presets(terminal: Terminal) -> None:
    """List the presets."""
    from opencrab.engine.agents.presets import all_agent_presets

    language = _language(terminal)
    words = {each.key: each.words[language] for each in all_agent_presets()}
    if terminal.options.json:
        rows = [{"preset": key, "name": of.name, "what": of.purpose} for key, of in words.items()]
        terminal.json(rows)
        return
    for key, of in words.items():
        terminal.line(f"{key:<12} {of.name}: {of.purpose}")


def _create_preset_agent(
    terminal: Terminal, each: "Preset", name: str | None
) -> dict[str, Any] | None:
    """Create a preset's agent, at most once per name, whatever its language.

    Returns None if such an agent exists and was created from other settings.
    """
    from opencrab.engine.agents.presets import agent_from_preset

    draft = agent_from_preset(each, _language(terminal), name)
    key = f"seed-{each.key}-{(name or '').encode().hex()[:40]}"
    body = draft.model_dump(mode="json", exclude_unset=True)
    try:
        return terminal.client.post("agents", body=body, key=key)
    except Conflict:
        return None


def _tell(terminal: Terminal, made: "dict[str, dict[str, Any] | None]") -> None:
    """Print the agents by the presets from which they were created."""
    if terminal.options.json:
        terminal.json([agent for agent in made.values() if agent is not None])
        return
    for key, agent in made.items():
        if agent is None:
            terminal.print_sentence("seeded_before", preset=key)
        else:
            terminal.line(f"{agent['name']}  {agent['id']}")


def _language(terminal: Terminal) -> "Language":
    from opencrab.domain.value import Language

    return Language(terminal.options.language.for_agents)


COMMANDS = {"population": seed_preset_agents, "agent": seed_agent, "presets": list_presets}
