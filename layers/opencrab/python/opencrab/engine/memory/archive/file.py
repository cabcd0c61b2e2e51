"""Archive files: an agent's memory as one zip of JSON lines, for import, and Markdown, to read.

An archive is validated like any other input: it may come from another agent, another installation,
or an attacker. Nothing in it names a path that is written to.
"""

import io
import json
import zipfile
import zlib
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Literal

from pydantic import Field, ValidationError

from opencrab.domain.errors import Invalid, TooLarge
from opencrab.domain.value import Identifier, Value, is_json_value

MANIFEST = "manifest.json"

ARCHIVE_BYTES = 4 << 20
"""The largest archive in bytes: what a request and its response can carry on AWS."""

UNPACKED_BYTES = 64 << 20
ROW_BYTES = 256 << 10
MEMBERS = 10_000
ROWS = 50_000

_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}


class ArchiveManifest(Value):
    """The manifest of an archive: its agent, time, and number of rows by kind."""

    format: Literal["opencrab-memory"] = "opencrab-memory"
    version: Literal[1] = 1
    agent_id: Identifier
    exported_at: datetime
    rows: dict[str, int] = Field(default_factory=dict)


class MemoryArchive:
    """An archive from outside: only requested members are unpacked, one row at a time.

    Raises TooLarge and Invalid, which name the member and the line.
    """

    def __init__(self, content: bytes) -> None:
        if len(content) > ARCHIVE_BYTES:
            raise TooLarge(
                f"the archive has {len(content)} bytes, at most {ARCHIVE_BYTES} are allowed",
                field="archive",
                cure="export less at a time",
            )
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(content))
            self._members = _validate_members(self._zip.infolist())
        except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError) as error:
            raise Invalid(
                f"invalid archive: {error}", field="archive", cure="send a zip made by export"
            ) from None
        self._unpacked = 0
        self.manifest = self._manifest()

    def rows(self, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the rows of a member with their line numbers; nothing if the member is missing."""
        if name not in self._members:
            return
        for number, line in enumerate(self._text(name).split("\n"), 1):
            if not line.strip():
                continue
            if number > ROWS:
                raise TooLarge(
                    f"{name} has more than {ROWS} rows", field="archive", cure="export in parts"
                )
            yield number, _row(name, number, line)

    def _manifest(self) -> ArchiveManifest:
        if MANIFEST not in self._members:
            raise Invalid(
                f"the archive has no {MANIFEST}", field="archive", cure="send a zip made by export"
            )
        try:
            return ArchiveManifest.model_validate(_row(MANIFEST, 1, self._text(MANIFEST)))
        except ValidationError as error:
            raise Invalid(
                f"{MANIFEST} is invalid: {describe_memory_archive_error(error)}",
                field="archive",
                cure="send an archive that this version of OpenCrab made",
            ) from None

    def _text(self, name: str) -> str:
        room = UNPACKED_BYTES - self._unpacked
        try:
            with self._zip.open(self._members[name]) as member:
                content = member.read(room + 1)
        except (zipfile.BadZipFile, zlib.error, RuntimeError, EOFError, OSError) as error:
            raise Invalid(
                f"{name!r} cannot be decompressed: {error}",
                field="archive",
                cure="export the archive again, and send the file unchanged",
            ) from None
        self._unpacked += len(content)
        if self._unpacked > UNPACKED_BYTES:
            raise _unpacks_too_large()
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError:
            raise Invalid(
                f"{name!r} is not UTF-8",
                field="archive",
                cure="save it as UTF-8, or export the archive again",
            ) from None


def _validate_members(infos: list[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
    if len(infos) > MEMBERS:
        raise TooLarge(
            f"the archive has {len(infos)} members, at most {MEMBERS} are allowed",
            field="archive",
            cure="export less at a time",
        )
    members = {info.filename: info for info in infos}
    if len(members) < len(infos):
        raise ValueError("several members have the same name")
    if any(info.flag_bits & 1 for info in infos):
        raise ValueError("encrypted members are not supported")
    if any(info.compress_type not in _METHODS for info in infos):
        raise ValueError("compression methods other than stored and deflated are not supported")
    if sum(info.file_size for info in infos) > UNPACKED_BYTES:
        raise _unpacks_too_large()
    return members


def _unpacks_too_large() -> TooLarge:
    return TooLarge(
        f"the archive unpacks to more than {UNPACKED_BYTES} bytes",
        field="archive",
        cure="export less at a time",
    )


def _row(name: str, number: int, line: str) -> dict[str, Any]:
    if len(line) > ROW_BYTES:
        raise TooLarge(
            f"{name}, line {number}: {len(line)} characters, at most {ROW_BYTES} are allowed",
            field="archive",
            cure="shorten or remove this line",
        )
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict) or not is_json_value(row):
        raise Invalid(
            f"{name}, line {number}: not a valid JSON object",
            field="archive",
            cure="correct this line, or export the archive again",
        )
    return row


def describe_memory_archive_error(error: ValidationError) -> str:
    """Describe what is wrong and where, without the invalid content."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"])) or "it"
    return f"{place}: {first['msg']}"
