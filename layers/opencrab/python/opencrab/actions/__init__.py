"""The actions of agents: one module per group, one function per action."""

from opencrab.actions import action_search, discussion_outcome, speech, web, world
from opencrab.actions.goals import promises
from opencrab.actions.memory import beliefs_and_notes, history, recall
from opencrab.actions.models import optimize, select
from opencrab.actions.peers import board, invite
from opencrab.actions.registry import Group, Registry
from opencrab.actions.skills import learning
from opencrab.actions.vault import edit
from opencrab.actions.workspace import write

GROUPS: tuple[Group, ...] = (
    speech.group,
    discussion_outcome.group,
    action_search.group,
    write.group,
    learning.group,
    recall.group,
    history.group,
    beliefs_and_notes.group,
    promises.group,
    edit.group,
    invite.group,
    board.group,
    web.group,
    select.group,
    optimize.group,
    world.group,
)
"""All groups; an action that is in none of them is not registered."""

__all__ = ["GROUPS", "Group", "Registry"]
