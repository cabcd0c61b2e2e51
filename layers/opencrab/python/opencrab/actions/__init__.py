"""What an agent can do: one module a group, one function an action."""

from opencrab.actions import (
    discussing,
    finding,
    history,
    inner,
    learning,
    llm,
    meta,
    planning,
    recall,
    speech,
    vault,
    web,
    workspace,
    world,
)
from opencrab.actions.registry import Group, Registry

GROUPS: tuple[Group, ...] = (
    speech.group,
    discussing.group,
    finding.group,
    workspace.group,
    learning.group,
    recall.group,
    history.group,
    inner.group,
    planning.group,
    vault.group,
    web.group,
    llm.group,
    meta.group,
    world.group,
)
"""Every group; an action that is in none of them does not exist."""

__all__ = ["GROUPS", "Group", "Registry"]
