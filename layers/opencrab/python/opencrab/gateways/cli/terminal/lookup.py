"""Finding: an agent by its id or its name, and a session with it."""

import unicodedata
from difflib import get_close_matches
from typing import Any

from opencrab.domain.errors import Conflict, NotFound
from opencrab.gateways.cli.terminal.terminal import Terminal

AgentView = dict[str, Any]
_NAMED = 10


def find_agent(terminal: Terminal, wanted: str) -> AgentView:
    """Find the agent with this id, or the only one with this name.

    Raises NotFound with the nearest names, and Conflict with the ids if several share the name.
    Retired agents are found by id only.
    """
    name, living = _normalize_text(wanted), []
    for agent in terminal.client.items("agents"):
        if agent["id"] == wanted:
            return agent
        if agent["status"] != "retired":
            living.append(agent)
    named = [agent for agent in living if _normalize_text(agent["name"]) == name]
    if len(named) > 1:
        ids = ", ".join(agent["id"] for agent in named[:_NAMED])
        raise Conflict(
            terminal.words("ambiguous", name=wanted, count=len(named)),
            cure=terminal.words("ambiguous_cure", ids=ids),
        )
    if not named:
        raise NotFound(
            terminal.words("unknown_agent", name=wanted), cure=_suggestion(terminal, name, living)
        )
    return named[0]


def living_agents(terminal: Terminal) -> list[AgentView]:
    """Return all agents that have not retired."""
    agents = terminal.client.items("agents")
    return [agent for agent in agents if agent["status"] != "retired"]


def agent_names(terminal: Terminal) -> dict[str, str]:
    """Return the names of all agents by their ids."""
    return {agent["id"]: agent["name"] for agent in terminal.client.items("agents")}


def named_or_only_agent(terminal: Terminal, wanted: str | None) -> AgentView:
    """Find the agent that was named, or the only one; raises NotFound, Conflict."""
    if wanted is not None:
        return find_agent(terminal, wanted)
    agents = living_agents(terminal)
    if len(agents) != 1:
        key = "name_agent" if agents else "no_agents"
        raise NotFound(terminal.words(key), cure=terminal.words(f"{key}_cure"))
    return agents[0]


def open_session_with_agent(terminal: Terminal, agent: AgentView) -> dict[str, Any]:
    """Open a session with one agent."""
    body = {"participants": [agent["id"]]}
    return terminal.client.post("sessions", body=body)


def _suggestion(terminal: Terminal, name: str, living: list[AgentView]) -> str:
    if not living:
        return terminal.words("no_agents_cure")
    names = {_normalize_text(agent["name"]): agent["name"] for agent in living}
    near = get_close_matches(name, names, n=1)
    if near:
        return terminal.words("did_you_mean", name=names[near[0]])
    return terminal.words("agents_are", names=", ".join(list(names.values())[:_NAMED]))


def _normalize_text(name: str) -> str:
    return unicodedata.normalize("NFKC", name).strip().casefold()
