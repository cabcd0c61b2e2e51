"""What an agent can do: one module a group, one function an action."""

from opencrab.actions import llm, speech, workspace
from opencrab.actions.registry import Group, Registry

GROUPS: tuple[Group, ...] = (speech.group, workspace.group, llm.group)
"""Every group; an action that is in none of them does not exist."""

__all__ = ["GROUPS", "Group", "Registry"]
