"""Provenance of workspace files: written by the agent's untainted turns, or foreign.

The store keeps with each file whether an untainted turn wrote it. Every other file is foreign:
uploaded, changed on the disk, or written by a turn that had read untrusted text. An action that
shows the content of a foreign file to a model taints the turn.
"""

import json
from collections.abc import Callable

from opencrab.domain.turn.action import ActionResult
from opencrab.domain.workspace.path import FOREIGN_NAME, NamedFile
from opencrab.ports.turn.action import ActionContext
from opencrab.ports.workspace.files import FileInfo

_NAMES = 200


def is_foreign_file(info: FileInfo) -> bool:
    """Return True unless an untainted turn wrote the file; takes info from a read, not a list."""
    return not info.clean


def writes_clean_file(context: ActionContext, *, own_words: bool = True) -> bool:
    """Return True if the text is the agent's own and the turn is not tainted."""
    return own_words and not context.turn.taint


def lists_foreign_files(context: ActionContext, is_shown: Callable[[str], bool]) -> bool:
    """Return True if a list shows names given by a tainted turn.

    Also returns True if there are at least 200 such names, without comparing them.
    """
    found = context.reach.facts.page(context.agent.id, FOREIGN_NAME, limit=_NAMES)
    names = (fact.read(NamedFile).path for fact in found)
    return len(found) == _NAMES or any(map(is_shown, names))


def shows_foreign_name(context: ActionContext, result: ActionResult) -> bool:
    """Return True if a result or its error shows a name given by a tainted turn, or a link to it.

    A note is found by its title or an earlier name, so the model need not know what it is called.
    """
    told = f"{json.dumps(result.data, ensure_ascii=False)} {result.error or ''}"
    return lists_foreign_files(context, lambda path: _is_named(path, told))


def _is_named(path: str, told: str) -> bool:
    forms = (path, json.dumps(path, ensure_ascii=False)[1:-1], repr(path)[1:-1])
    parts = path.rpartition(".")[0].split("/")
    links = ("[[" + "/".join(parts[first:]) for first in range(len(parts)))
    return any(form in told for form in (*forms, *links))
