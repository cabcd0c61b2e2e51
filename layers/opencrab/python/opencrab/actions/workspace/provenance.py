"""Provenance of workspace files: written by the agent's untainted turns, or foreign.

The store keeps with each file whether an untainted turn wrote it. Every other file is foreign:
uploaded, changed on the disk, or written by a turn that had read untrusted text. An action that
shows the content of a foreign file to a model taints the turn. So does one that shows its name: a
foreign name is that of a foreign file, or one that a tainted turn or an upload gave.
"""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice

from opencrab.domain.document import Document
from opencrab.domain.turn.action import ActionResult
from opencrab.domain.workspace.path import FOREIGN_NAME, NamedFile, workspace_path_collision_key
from opencrab.ports.paging import all_pages
from opencrab.ports.turn.action import ActionContext
from opencrab.ports.workspace.files import FileInfo

_NAMES = 2_000
_SHOWN = 40
"""A name that is shown may be cut: so many of its characters are looked for."""


def is_foreign_workspace_file(info: FileInfo) -> bool:
    """Return True unless an untainted turn wrote the file."""
    return not info.clean


def writes_untainted_workspace_file(context: ActionContext, *, own_words: bool = True) -> bool:
    """Return True if the text is the agent's own and the turn is not tainted."""
    return own_words and not context.turn.taint


def files_with_own_names(context: ActionContext, found: Iterable[FileInfo]) -> tuple[FileInfo, ...]:
    """Return the files that are clean and whose names neither a tainted turn nor an upload gave.

    Returns none if there are at least 2,000 such names, without comparing them.
    """
    marked = _marked_names(context)
    if len(marked) == _NAMES:
        return ()
    return tuple(each for each in found if each.clean and each.path not in marked)


def lists_foreign_workspace_files(context: ActionContext, found: Iterable[FileInfo]) -> bool:
    """Check whether a list of these files shows a foreign name."""
    listed = tuple(found)
    return len(files_with_own_names(context, listed)) < len(listed)


def shows_foreign_workspace_file(context: ActionContext, result: ActionResult) -> bool:
    """Check whether a result, or its error, shows a foreign name.

    A note is found by its title or an earlier name, so the model need not know what it is called.
    """
    shown = f"{json.dumps(result.data, ensure_ascii=False)} {result.error or ''}"
    return names_foreign_workspace_file(context, shown)


def names_foreign_workspace_file(context: ActionContext, text: str) -> bool:
    """Check whether a text holds the foreign name of a file, as a path, a link or in quotes."""
    from opencrab.domain.vault.wikilink import VAULT  # noqa: PLC0415 - with all that notes need

    marked, folded = _marked_names(context), _fold_text(text)
    foreign = (
        info.path for info in context.reach.files.list(context.agent.id, VAULT) if not info.clean
    )
    names = {_bare_name(path) for path in (*marked, *foreign)}
    return len(marked) == _NAMES or any(_is_named(name, folded) for name in names)


def _marked_names(context: ActionContext) -> set[str]:
    found: Iterator[Document] = all_pages(context.reach.facts, context.agent.id, FOREIGN_NAME)
    return {fact.read(NamedFile).path for fact in islice(found, _NAMES)}


def _is_named(name: str, folded: str) -> bool:
    """Check whether a folded text holds a name as a whole, between marks that no name contains."""
    for form in {name, json.dumps(name, ensure_ascii=False)[1:-1], repr(name)[1:-1]}:
        wanted = _fold_text(form)
        if wanted[:_SHOWN] not in folded:
            continue
        end = "" if len(wanted) > _SHOWN else r"""(?=$|[].,:;/|"'#\\…])"""
        if re.search(rf"""(?:^|[/"'\[])\s?{re.escape(wanted[:_SHOWN])}{end}""", folded):
            return True
    return False


def _bare_name(path: str) -> str:
    """Return a file's name without folders and ending."""
    name = path.rpartition("/")[2]
    return name.rpartition(".")[0] or name


def _fold_text(text: str) -> str:
    """Return a text as names are compared: whatever case, width and spaces it is shown in."""
    return " ".join(workspace_path_collision_key(text).split())
