"""Spill: a result too large for the context goes to a file, and the model sees its two ends.

The path is made of the turn and the call, and the content is the call's result. So a worker that
repeats a call after a crash finds or writes the very same file.
"""

import json
import re
from typing import Any

from opencrab.domain.access.authority import Authority
from opencrab.domain.errors import OpenCrabError, Unavailable
from opencrab.domain.turn.action import ActionResult, FileWritten
from opencrab.engine.turn.call import ReadyCall
from opencrab.engine.turn.cleared_files import files_a_turn_may_use, turn_file_labels
from opencrab.engine.turn.work import TurnWork

FOLDER = "data/results"

EDGE = 1_000
"""The number of characters that are shown of the beginning, and of the end."""

LONGEST_LINE = 2_000
"""The most characters of a line of JSON; with a longer one the file is text, folded here."""

_OUTSIDERS = {Authority.PUBLIC, Authority.PEER}
_FOLD = re.compile(f".{{1,{LONGEST_LINE}}}")


def spill_large_turn_result(work: TurnWork, ready: ReadyCall, result: ActionResult) -> ActionResult:
    """Return the result, or its two ends and the path of a file if it is too large to be shown.

    Turns of outsiders write no files: they get the two ends alone. The file is tainted if the turn
    or the result is. The result of an action that never spills is refused instead, as everybody who
    may read the workspace could read the file. Raises Unavailable when the file store is.
    """
    text = json.dumps(result.data, ensure_ascii=False)
    size = len(text.encode())
    if size <= ready.action.result_bytes:
        return result
    if not ready.action.spills:
        return ActionResult.failure(
            f"the result has {size} bytes, at most {ready.action.result_bytes} are shown;"
            " request less at once"
        )
    shown: dict[str, Any] = {"size": size, "head": text[:EDGE], "tail": text[-EDGE:]}
    shown["has_more"] = True
    if work.turn.authority in _OUTSIDERS:
        return result.replaced(data=shown)
    suffix, content = pageable_turn_result(result.data or {})
    path = f"{FOLDER}/{work.turn.id}-{ready.call.id}.{suffix}"
    clean = not (work.turn.taint or result.taint)
    try:
        # The path is nobody's choice, so what is there already is this result.
        files = files_a_turn_may_use(work, repeats=True, names=False)
        info = files.write(work.turn.agent_id, path, content.encode(), clean=clean)
        written = FileWritten(path=info.path, sha256=info.sha256, size=info.size)
        # Of a pure call nothing is saved that could hold the label.
        if labels := turn_file_labels(work, (written,)):
            work.runtime.home.facts.commit(*labels)
        result = result.replaced(side_effects=(*result.side_effects, written))
        shown["path"] = path
        shown["note"] = "ws_read shows it in pages"
    except Unavailable:
        raise
    except OpenCrabError as error:
        shown["note"] = f"the whole result could not be stored: {error.message}"
    return result.replaced(data=shown)


def is_file_of_turn_result(path: str, turn_id: str) -> bool:
    """Check whether a file is one in which a result of this turn was stored."""
    return path.startswith(f"{FOLDER}/{turn_id}-")


def pageable_turn_result(data: dict[str, Any]) -> tuple[str, str]:
    """Return suffix and content of a file for a result, with lines that `ws_read` can page."""
    lines = json.dumps(data, ensure_ascii=False, indent=1)
    if all(len(line) <= LONGEST_LINE for line in lines.splitlines()):
        return "json", lines
    return "txt", "\n".join(_FOLD.findall(lines.replace("\\n", "\n")))
