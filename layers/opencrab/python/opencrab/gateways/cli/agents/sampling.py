"""The command about sampling: with which settings an agent's models make answers."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from opencrab.gateways.cli.terminal.arguments import AgentName, cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.lookup import find_agent_for_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal


class SamplingUse(StrEnum):
    """The uses that answer in words: the domain's, slow to load, without embedding."""

    CONVERSATION = "conversation"
    THINKING = "thinking"
    ANALYSIS = "analysis"
    TOOL_CALLING = "tool_calling"
    CREATIVE = "creative"


class EffortOption(StrEnum):
    """How much a reasoning model thinks."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


_SETTINGS = ("temperature", "top_p", "max_output_tokens", "reasoning_effort")


@cli_command
def show_or_set_sampling_of_agent(
    terminal: Terminal,
    agent: AgentName,
    *,
    use: Annotated[SamplingUse | None, cli_option("Only this use; by default all.")] = None,
    temperature: Annotated[
        float | None, cli_option("Sampling temperature.", min=0.0, max=2.0)
    ] = None,
    top_p: Annotated[
        float | None, cli_option("Share of likely tokens to draw from.", min=0.0, max=1.0)
    ] = None,
    max_output_tokens: Annotated[
        int | None, cli_option("Most tokens of an answer.", min=16, max=1_000_000)
    ] = None,
    effort: Annotated[EffortOption | None, cli_option("How much a reasoning model thinks.")] = None,
    reset: Annotated[bool, cli_option("Return to the installation's settings.")] = False,
) -> None:
    """Show or set how an agent's models make answers: temperature, length, reasoning effort."""
    given = {
        "temperature": temperature,
        "top_p": top_p,
        "max_output_tokens": max_output_tokens,
        "reasoning_effort": None if effort is None else effort.value,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    if reset and changes:
        raise typer.BadParameter(terminal.words("sampling_either"), param_hint="--reset")
    found = find_agent_for_terminal(terminal, agent)
    place = ("agents", found["id"], "llm", "config")
    config = terminal.client.get(*place)
    if reset or changes:
        uses = [each.value for each in SamplingUse] if use is None else [use.value]
        for name in uses:
            own = {} if reset else {**config["sampling"].get(name, {}), **changes}
            config["sampling"][name] = own
        config["sampling"] = {name: own for name, own in config["sampling"].items() if own}
        version, computed = config.pop("version"), config.pop("effective")
        del computed
        config = terminal.client.put(*place, body=config, version=version)
    terminal.show(config, _draw)


def _draw(terminal: Terminal, config: dict[str, Any]) -> None:
    """Draw what the calls of each use are made with; a dash is the model's own default."""
    rows = []
    for use in SamplingUse:
        chosen = config["effective"][use.value]
        told = [chosen["sampling"][name] for name in _SETTINGS]
        rows.append([use.value, chosen["model"], *("-" if one is None else one for one in told)])
    terminal.table(("use", "model", *_SETTINGS), rows)
    if _leaves_out(config):
        terminal.print_sentence("sampling_left_out")


def _leaves_out(config: dict[str, Any]) -> bool:
    """Check whether the model of a use does not accept a setting of this agent as it is."""
    return any(
        value is not None and config["effective"][use]["sampling"][name] != value
        for use, own in config["sampling"].items()
        for name, value in own.items()
    )
