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
    """Return a file's path in its stored form; raises Invalid with the cure."""
    path = _normal(text)
    if not path:
        raise _invalid(text, "is not a file path", "give a file, like 'notes/today.md'")
    if path.endswith("/"):
        raise _invalid(text, "names a folder", "give a file in it")
    _check(text, path)
    return path


def workspace_folder_path(text: str) -> str:
    """Return a folder's path without a slash at its end; "" is the workspace itself."""
    path = _normal(text).removesuffix("/")
    if path:
        _check(text, path)
    return path


def is_workspace_path(path: str) -> bool:
    """Check whether a path is in its stored form; a console's folder objects are not."""
    try:
        return workspace_path(path) == path
    except Invalid:
        return False


def workspace_folder_of_agent(agent_id: str) -> str:
    """Return an agent's id as part of a path; raises Invalid for an unsafe id."""
    try:
        return _identifier().validate_python(agent_id)
    except ValidationError as error:
        raise Invalid(
            f"agent id {agent_id!r} is invalid",
            field="agent_id",
            cure="use 1 to 64 letters, digits, dashes and underscores",
        ) from error


def file_not_found_error(path: str) -> NotFound:
    """Build the NotFound error for a file that does not exist."""
    return NotFound(f"there is no file {path!r}", field="path", cure="list the workspace")


def workspace_file_version_gone_error(path: str, version: str) -> NotFound:
    """Build the NotFound error for a version that is no longer stored."""
    return NotFound(
        f"version {version!r} of file {path!r} is not stored",
        field="version",
        cure="list the file's versions",
    )


def current_file_version_error(path: str, version: str) -> Conflict:
    """Build the Conflict error for deleting the current version of a file as an older one."""
    return Conflict(
        f"version {version!r} is the current content of file {path!r}",
        cure="delete the file, then its versions",
    )


def file_conflict_error(path: str, *, is_gone: bool) -> Conflict:
    """Build the Conflict error for a file that was changed since it was read."""
    became = "is gone" if is_gone else "was replaced"
    return Conflict(f"file {path!r} {became}", field="path", cure="read it again, then write")


def file_name_taken_error(path: str) -> Conflict:
    """Build the Conflict error for a name that a turn may not write, without telling why."""
    return Conflict(f"the name {path!r} is not free", field="path", cure="choose another name")


@cache
def _identifier() -> TypeAdapter[str]:
    return TypeAdapter(Identifier)


def workspace_path_collision_key(path: str) -> str:
    """Return a key that is equal for paths that some systems or people cannot tell apart."""
    folded = unicodedata.normalize("NFKC", path).casefold()
    return unicodedata.normalize("NFKC", folded)


STANDARD_FOLDERS = ("notes", "summaries", "skills", "drafts", "data", "vault")
"""The folders that every workspace shows, even if they are empty and not stored."""

FOREIGN_NAME = "foreign_name"
"""The kind of documents that name files written by a tainted turn."""


class NamedFile(Value):
    """A file whose name may be untrusted text: it taints turns that list it."""

    path: str


PUBLISHED = "public/"
"""The folder whose files everybody may read: only the owner and untainted turns that serve nobody
else write there."""

FILE_READERS = "file_readers"
"""The kind of documents that label files written in turns whose audience is narrower."""


class FileReaders(Value):
    """The label of the turn that wrote a file's content; see `domain/memory/clearance`."""

    readers: str
    sha256: str


def is_published_workspace_path(path: str) -> bool:
    """Check whether everybody may read a file, by its path."""
    return path.startswith(PUBLISHED)


def file_name_key(path: str) -> str:
    """Return the id of the document that names a file."""
    return content_hash(workspace_path_collision_key(path).encode())[:40]


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
    if _DEVICE.fullmatch(workspace_path_collision_key(segment)):
        raise _invalid(
            text, f"contains {segment!r}, a reserved device name on Windows", "choose another name"
        )


def _invalid(text: str, problem: str, cure: str) -> Invalid:
    shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
    return Invalid(f"path {shown!r} {problem}", field="path", cure=cure)
