"""Whose words a workspace file holds: the agent's own clean ones, or somebody else's.

The store keeps with each file whether a clean turn wrote it. Every other file is foreign: uploaded,
changed on the disk, or written by a turn that had itself read foreign words. Whoever shows the
content of a foreign file to a model taints the turn.
"""

from collections.abc import Callable

from opencrab.domain.workspace.path import FOREIGN_NAME, NamedFile
from opencrab.ports.turn.action import ActionContext
from opencrab.ports.workspace.files import FileInfo

_NAMES = 200


def is_foreign_file(info: FileInfo) -> bool:
    """Whether a file that was read or looked at, not only listed, holds anything else."""
    return not info.clean


def writes_clean_file(context: ActionContext, *, own_words: bool = True) -> bool:
    """Whether a write is clean: of the agent's own words alone, in a turn that is not tainted."""
    return own_words and not context.turn.taint


def lists_foreign_files(context: ActionContext, is_shown: Callable[[str], bool]) -> bool:
    """Whether a list shows names that a tainted turn gave; where there are many, it is taken to."""
    found = context.reach.facts.page(context.agent.id, FOREIGN_NAME, limit=_NAMES)
    names = (fact.read(NamedFile).path for fact in found)
    return len(found) == _NAMES or any(map(is_shown, names))
