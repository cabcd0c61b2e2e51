"""Finding: an agent by its id or its name, and a session with it."""

import unicodedata
from difflib import get_close_matches
from typing import Any

from opencrab.domain.errors import Conflict, NotFound, Refused
from opencrab.gateways.cli.terminal.arguments import ID_PREFIX, IdList
from opencrab.gateways.cli.terminal.terminal import Terminal

AgentView = dict[str, Any]
_NAMED = 10


def find_agent_for_terminal(terminal: Terminal, wanted: str) -> AgentView:
    """Find the agent with this id, or the only one with this name.

    The first characters of an id are enough. Raises NotFound with the nearest names, and Conflict
    with the ids if several share the name. Retired agents are found by id only.
    """
    name, living, begun = _normalize_text(wanted), [], []
    for agent in terminal.client.items("agents"):
        if agent["id"] == wanted:
            return agent
        if ID_PREFIX.fullmatch(wanted) and agent["id"].startswith(wanted):
            begun.append(agent)
        if agent["status"] != "retired":
            living.append(agent)
    named = [agent for agent in living if _normalize_text(agent["name"]) == name]
    if len(named) > 1:
        ids = ", ".join(agent["id"] for agent in named[:_NAMED])
        raise Conflict(
            terminal.words("ambiguous", name=wanted, count=len(named)),
            cure=terminal.words("ambiguous_cure", ids=ids),
        )
    if not named and begun:
        return _only_one(terminal, begun, wanted)
    if not named:
        raise NotFound(
            terminal.words("unknown_agent", name=wanted), cure=_suggestion(terminal, name, living)
        )
    return named[0]


def require_unused_name_for_terminal(terminal: Terminal, name: str, agent_id: str = "") -> None:
    """Raise Conflict if another agent that has not retired is found by this name.

    Over REST equal names are allowed, because programs use ids.
    """
    wanted = _normalize_text(name)
    for agent in living_agents_for_terminal(terminal):
        if agent["id"] != agent_id and _normalize_text(agent["name"]) == wanted:
            raise Conflict(
                terminal.words("name_used", name=agent["name"], id=agent["id"]),
                cure=terminal.words("name_used_cure", id=agent["id"]),
            )


def find_id_for_terminal(terminal: Terminal, kind: IdList, wanted: str, agent: str | None) -> str:
    """Return the only id of a list that begins so; what begins none is returned as it is.

    Raises Conflict with the ids if several begin so.
    """
    place = kind.parts
    if kind.of_agent:
        place = ("agents", agent_named_on_terminal(terminal, agent)["id"], *place)
    found = dict[str, dict[str, Any]]()
    for state in kind.states or (None,):
        try:
            listed = list(terminal.client.items(*place, state=state))
        except (NotFound, Refused):  # the command itself is told why
            continue
        for each in listed:
            if each["id"].startswith(wanted) or str(each.get(kind.also, "")).startswith(wanted):
                found[each["id"]] = each
    if not found or wanted in found:
        return wanted
    return str(_only_one(terminal, list(found.values()), wanted)["id"])


def _only_one(terminal: Terminal, found: list[dict[str, Any]], wanted: str) -> dict[str, Any]:
    if len(found) > 1:
        ids = ", ".join(each["id"] for each in found[:_NAMED])
        raise Conflict(
            terminal.words("id_ambiguous", start=wanted, count=len(found)),
            cure=terminal.words("ambiguous_cure", ids=ids),
        )
    return found[0]


def living_agents_for_terminal(terminal: Terminal) -> list[AgentView]:
    """Return all agents that have not retired."""
    agents = terminal.client.items("agents")
    return [agent for agent in agents if agent["status"] != "retired"]


def agent_names_for_terminal(terminal: Terminal) -> dict[str, str]:
    """Return the names of all agents by their ids."""
    return {agent["id"]: agent["name"] for agent in terminal.client.items("agents")}


def agent_named_on_terminal(terminal: Terminal, wanted: str | None) -> AgentView:
    """Find the agent that was named, or the only one; raises NotFound, Conflict."""
    if wanted is not None:
        return find_agent_for_terminal(terminal, wanted)
    agents = living_agents_for_terminal(terminal)
    if len(agents) != 1:
        key = "name_agent" if agents else "no_agents"
        raise NotFound(terminal.words(key), cure=terminal.words(f"{key}_cure"))
    return agents[0]


def open_session_from_terminal(terminal: Terminal, agent: AgentView) -> dict[str, Any]:
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
