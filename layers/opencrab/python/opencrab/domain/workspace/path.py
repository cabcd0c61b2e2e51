"""Workspace paths: the one place that decides what a path is and which names are the same.

A path that passes is relative, stays inside its workspace, means the same file on every system,
and shows as what it is.
"""

import re
import unicodedata
from functools import cache

from pydantic import TypeAdapter, ValidationError

from opencrab.domain.errors import Conflict, Invalid, NotFound
from opencrab.domain.identifier import content_hash
from opencrab.domain.value import Identifier, Value

PATH_BYTES = 700
SEGMENT_BYTES = 200
DEPTH = 16

_SHOWN = 80
_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_RESERVED = frozenset('<>:"|?*\\')
_DEVICE = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|clock\$|(com|lpt)[0-9])( *\..*)?")


def workspace_path(text: str) -> str:
    """A file's path in the one form in which it is stored; raises Invalid naming the cure."""
    path = _normal(text)
    if not path:
        raise _invalid(text, "is not a file path", "give a file, like 'notes/today.md'")
    if path.endswith("/"):
        raise _invalid(text, "names a folder", "give a file in it")
    _check(text, path)
    return path


def workspace_prefix(text: str) -> str:
    """A folder's path without a slash at its end; "" is the workspace itself."""
    path = _normal(text).removesuffix("/")
    if path:
        _check(text, path)
    return path


def is_workspace_path(path: str) -> bool:
    """Whether this names a file as it is: consoles' empty objects for folders do not."""
    try:
        return workspace_path(path) == path
    except Invalid:
        return False


def workspace_folder_of_agent(agent_id: str) -> str:
    """An agent's id as a part of a path; raises Invalid for one that could lead elsewhere."""
    try:
        return _identifier().validate_python(agent_id)
    except ValidationError as error:
        raise Invalid(
            f"agent id {agent_id!r} is invalid",
            field="agent_id",
            cure="use 1 to 64 letters, digits, dashes and underscores",
        ) from error


def file_not_found_error(path: str) -> NotFound:
    """The refusal to tell of a file that is not there."""
    return NotFound(f"there is no file {path!r}", field="path", cure="list the workspace")


def file_version_gone_error(path: str, version: str) -> NotFound:
    """The refusal to tell of a version that is gone."""
    return NotFound(
        f"version {version!r} of file {path!r} is not stored",
        field="version",
        cure="list the file's versions",
    )


def file_conflict_error(path: str, *, is_gone: bool) -> Conflict:
    """The refusal to write over what others wrote."""
    became = "is gone" if is_gone else "was replaced"
    return Conflict(f"file {path!r} {became}", field="path", cure="read it again, then write")


@cache
def _identifier() -> TypeAdapter[str]:
    return TypeAdapter(Identifier)


def path_collision_key(path: str) -> str:
    """What two paths have in common that some systems, or people, cannot tell apart."""
    folded = unicodedata.normalize("NFKC", path).casefold()
    return unicodedata.normalize("NFKC", folded)


STANDARD_FOLDERS = ("notes", "summaries", "skills", "drafts", "data", "vault")
"""What every workspace shows, even while nothing is in it: until then nothing is stored of them."""

FOREIGN_NAME = "foreign_name"
"""Kind of the facts that name files written by a turn that had read foreign words."""


class NamedFile(Value):
    """A file whose name may be such words itself: who lists it reads them."""

    path: str


def file_name_key(path: str) -> str:
    """The id of the fact that names a file."""
    return content_hash(path_collision_key(path).encode())[:40]


def _normal(text: str) -> str:
    hidden = next((c for c in text if unicodedata.category(c) in _HIDDEN), None)
    if hidden is not None:
        raise _invalid(text, f"contains the invisible character U+{ord(hidden):04X}", "remove it")
    path = unicodedata.normalize("NFC", text)
    while path.startswith("./"):
        path = path[2:]
    return "" if path == "." else path


def _check(text: str, path: str) -> None:
    if path.startswith("/"):
        raise _invalid(text, "is not relative", "begin with a file or folder of the workspace")
    if len(path.encode()) > PATH_BYTES:
        raise _invalid(text, f"has over {PATH_BYTES} bytes of UTF-8", "choose shorter names")
    segments = path.split("/")
    if len(segments) > DEPTH:
        raise _invalid(text, f"is over {DEPTH} levels deep", "use fewer folders")
    for segment in segments:
        _check_segment(text, segment)


def _check_segment(text: str, segment: str) -> None:
    if segment in {"", ".", ".."}:
        raise _invalid(
            text, f"contains {segment + '/'!r}", "write the path from the workspace down"
        )
    reserved = sorted(_RESERVED.intersection(segment))
    if reserved:
        raise _invalid(text, f"contains {reserved[0]!r}", "separate folders by / and remove it")
    if segment[-1] == "." or segment[-1].isspace():
        raise _invalid(text, "has a name that ends in a dot or space", "remove it")
    if len(segment.encode()) > SEGMENT_BYTES:
        raise _invalid(text, f"has a name of over {SEGMENT_BYTES} bytes", "choose a shorter one")
    if _DEVICE.fullmatch(path_collision_key(segment)):
        raise _invalid(text, f"has the name of a device, {segment!r}", "choose another one")


def _invalid(text: str, problem: str, cure: str) -> Invalid:
    shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
    return Invalid(f"path {shown!r} {problem}", field="path", cure=cure)
