"""Attachments: files of this computer for the next message, checked before they are sent."""

import os
import shlex
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from opencrab.domain.conversation.attachment import (
    PICTURE_BYTES,
    PICTURES,
    TEXT_FILE_BYTES,
    AttachedKind,
    AttachmentFault,
    judge_message_attachment,
)
from opencrab.domain.errors import Invalid
from opencrab.gateways.cli.terminal.files import read_file_for_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal

_FAULTS = {
    AttachmentFault.EMPTY: "attach_empty",
    AttachmentFault.TOO_LARGE: "attach_too_large",
    AttachmentFault.NOT_TEXT: "attach_not_text",
    AttachmentFault.NO_PICTURE: "attach_no_picture",
    AttachmentFault.IS_PICTURE: "attach_is_picture",
}
_BEGINNINGS = ("/", "~", "./", "../", "file:", "'", '"', ".\\", "..\\")


@dataclass(frozen=True)
class _LocalFile:
    name: str
    content: bytes
    kind: str


class Attachments:
    """The files that go with the next message of a chat."""

    def __init__(self, terminal: Terminal, paths: Iterable[str] = ()) -> None:
        self._terminal = terminal
        self._files: list[_LocalFile] = []
        for path in paths:
            self.add(path)

    @property
    def names(self) -> list[str]:
        """The names of the files that wait for the next message."""
        return [file.name for file in self._files]

    def add(self, path: str) -> str:
        """Read a file and keep it for the next message; return its name. Raises Invalid."""
        if path.startswith(("https:", "http:")):
            raise self._fault("attach_address", path)
        place = Path(path).expanduser()
        self._require_file(place, path)
        content = read_file_for_terminal(
            self._terminal, place, max(PICTURE_BYTES, TEXT_FILE_BYTES) + 1
        )
        found = judge_message_attachment(place.name, content)
        if not isinstance(found, AttachedKind):
            raise self._fault(_FAULTS[found], path)
        if found.kind == "image" and self._pictures == PICTURES:
            raise self._fault("attach_too_many", path)
        self._files.append(_LocalFile(place.name, content, found.kind))
        return place.name

    def upload(self, session_id: str) -> tuple[dict[str, Any], ...]:
        """Send the files to a session and return the parts of the message that refer to them."""
        parts = []
        for file in self._files:
            stored = self._terminal.client.upload(
                "sessions", session_id, "uploads", content=file.content, method="POST",
                name=file.name,
            )  # fmt: skip
            parts.append({"kind": stored["kind"], "reference": stored["reference"]})
        self._files = []
        return tuple(parts)

    @property
    def _pictures(self) -> int:
        return sum(file.kind == "image" for file in self._files)

    def _require_file(self, place: Path, path: str) -> None:
        try:
            mode = place.stat().st_mode
        except PermissionError:
            raise self._fault("attach_forbidden", path) from None
        except (OSError, ValueError):
            raise self._fault("attach_missing", path) from None
        if not stat.S_ISREG(mode):
            raise self._fault("attach_folder", path)
        if not os.access(place, os.R_OK):
            raise self._fault("attach_forbidden", path)

    def _fault(self, key: str, path: str) -> Invalid:
        words = self._terminal.words
        cure = words("attach_cure", pictures=PICTURES, picture=_mb(PICTURE_BYTES),
                     text=_mb(TEXT_FILE_BYTES))  # fmt: skip
        return Invalid(words(key, path=path, most=PICTURES), cure=cure)


def files_dropped_into_chat(line: str) -> list[str]:
    """Return the paths of a line that consists only of paths of existing files, else nothing.

    Terminals type the path of a file that is dropped on them: quoted, escaped, as an address
    (`file:`), or as it is.
    """
    text = line.strip()
    if not text.startswith(_BEGINNINGS) or text.startswith("//"):
        return []
    whole = text.strip("'\"") if text[0] in "'\"" else text
    for paths in ([whole], _words(text)):
        found = [_local_path(path) for path in paths]
        if found and all(map(_is_file, found)):
            return found
    return []


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return []


def _local_path(path: str) -> str:
    return unquote(urlsplit(path).path) if path.startswith("file:") else path


def _is_file(path: str) -> bool:
    try:
        return Path(path).expanduser().is_file()
    except (OSError, ValueError, RuntimeError):
        return False


def _mb(count: int) -> str:
    return f"{count / 1_000_000:g} MB"
