"""Spill: a result too large for the context lies in the workspace, and the model sees its edges.

The path is made of the turn and the call and the content is the call's result, so that whoever
repeats a call after a crash finds or writes the very same file.
"""

import json
import re
from typing import Any

from opencrab.domain.access.authority import Authority
from opencrab.domain.errors import OpenCrabError, Unavailable
from opencrab.domain.turn.action import ActionResult, FileWritten
from opencrab.engine.turn.call import ReadyCall
from opencrab.engine.turn.work import TurnWork

FOLDER = "data/results"

EDGE = 1_000
"""Characters that are shown of the beginning and of the end."""

LONGEST_LINE = 2_000
"""Characters of a line of JSON; where one is longer the file is text with its lines folded."""

_OUTSIDERS = {Authority.PUBLIC, Authority.PEER}
_FOLD = re.compile(f".{{1,{LONGEST_LINE}}}")


def spill_large_result(work: TurnWork, ready: ReadyCall, result: ActionResult) -> ActionResult:
    """The result, or where it lies and its edges when it is too large to be shown.

    Turns of outsiders write no files: they get the beginning and the end alone. The file is tainted
    if the turn or the result is. The result of an action that never spills is refused instead, as
    everybody who may read the workspace could read the file. Raises Unavailable.
    """
    text = json.dumps(result.data, ensure_ascii=False)
    size = len(text.encode())
    if size <= ready.action.result_bytes:
        return result
    if not ready.action.spills:
        return ActionResult.failed(
            f"the result has {size} bytes, at most {ready.action.result_bytes} are shown;"
            " request less at once"
        )
    shown: dict[str, Any] = {"size": size, "head": text[:EDGE], "tail": text[-EDGE:]}
    shown["has_more"] = True
    if work.turn.authority in _OUTSIDERS:
        return result.replaced(data=shown)
    suffix, content = pageable_tool_result(result.data or {})
    path = f"{FOLDER}/{work.turn.id}-{ready.call.id}.{suffix}"
    clean = not (work.turn.taint or result.taint)
    try:
        files = work.runtime.home.files
        info = files.write(work.turn.agent_id, path, content.encode(), clean=clean)
        written = FileWritten(path=info.path, sha256=info.sha256, size=info.size)
        result = result.replaced(side_effects=(*result.side_effects, written))
        shown["path"] = path
        shown["note"] = "ws_read shows it in pages"
    except Unavailable:
        raise
    except OpenCrabError as error:
        shown["note"] = f"the whole result could not be stored: {error.message}"
    return result.replaced(data=shown)


def is_stored_result(path: str, turn_id: str) -> bool:
    """Whether a file is one in which a result of this turn was kept."""
    return path.startswith(f"{FOLDER}/{turn_id}-")


def pageable_tool_result(data: dict[str, Any]) -> tuple[str, str]:
    """The suffix and the content of a file that can be read page by page, line by line."""
    lines = json.dumps(data, ensure_ascii=False, indent=1)
    if all(len(line) <= LONGEST_LINE for line in lines.splitlines()):
        return "json", lines
    return "txt", "\n".join(_FOLD.findall(lines.replace("\\n", "\n")))
