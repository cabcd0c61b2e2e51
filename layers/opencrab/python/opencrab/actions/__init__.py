"""What an agent can do: one module a group, one function an action."""

from opencrab.actions import (
    finding,
    history,
    learning,
    llm,
    planning,
    recall,
    speech,
    vault,
    web,
    workspace,
)
from opencrab.actions.registry import Group, Registry

GROUPS: tuple[Group, ...] = (
    speech.group,
    finding.group,
    workspace.group,
    learning.group,
    recall.group,
    history.group,
    planning.group,
    vault.group,
    web.group,
    llm.group,
)
"""Every group; an action that is in none of them does not exist."""

__all__ = ["GROUPS", "Group", "Registry"]
