"""Archives: an agent's past as one zip file, in JSON lines to be read back and in Markdown to read.

What an archive says is checked like any other input: it may come from another agent, another
installation, or somebody who means harm. Nothing in it names a path that is written to.
"""

import io
import json
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Literal

from pydantic import Field, ValidationError

from opencrab.domain.errors import Invalid, TooLarge
from opencrab.domain.value import Identifier, Value, is_json

MANIFEST = "manifest.json"

ARCHIVE_BYTES = 4 << 20
"""Largest archive that is made or taken: what a request and its answer can carry on AWS."""

UNPACKED_BYTES = 64 << 20
ROW_BYTES = 256 << 10
MEMBERS = 10_000
ROWS = 50_000

_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}


class ArchiveManifest(Value):
    """What an archive holds, and of whom."""

    format: Literal["opencrab-memory"] = "opencrab-memory"
    version: Literal[1] = 1
    agent_id: Identifier
    exported_at: datetime
    rows: dict[str, int] = Field(default_factory=dict)


def pack_archive_zip(members: Mapping[str, str], at: datetime) -> bytes:
    """A zip of texts by name; the same texts at the same time are the same bytes.

    Raises TooLarge when it could not be sent.
    """
    buffer = io.BytesIO()
    moment = (max(at.year, 1980), at.month, at.day, at.hour, at.minute, at.second)
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            info = zipfile.ZipInfo(name, moment)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o600 << 16
            archive.writestr(info, text)
            if buffer.tell() > ARCHIVE_BYTES:
                raise TooLarge(
                    f"the archive is larger than {ARCHIVE_BYTES} bytes",
                    field="sessions",
                    cure="omit the sessions, or export one session or a period at a time",
                )
    return buffer.getvalue()


def archive_rows(values: Iterable[Value]) -> str:
    """Values as JSON lines."""
    return "".join(f"{value.model_dump_json(exclude_defaults=True)}\n" for value in values)


class MemoryArchive:
    """An archive that somebody gave: nothing is unpacked but what is asked for, a row at a time.

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
        """The rows of a member with their line numbers; nothing when it is not there."""
        if name not in self._members:
            return
        for number, line in enumerate(self._text(name).split("\n"), 1):
            if not line.strip():
                continue
            if number > ROWS:
                raise TooLarge(f"{name} has more than {ROWS} rows", field="archive")
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
                f"{MANIFEST} is invalid: {describe_archive_error(error)}",
                field="archive",
                cure="send an archive that this version of OpenCrab made",
            ) from None

    def _text(self, name: str) -> str:
        room = UNPACKED_BYTES - self._unpacked
        try:
            with self._zip.open(self._members[name]) as member:
                content = member.read(room + 1)
        except (zipfile.BadZipFile, zlib.error, RuntimeError, EOFError, OSError) as error:
            raise Invalid(f"{name!r} cannot be decompressed: {error}", field="archive") from None
        self._unpacked += len(content)
        if self._unpacked > UNPACKED_BYTES:
            raise _unpacks_too_large()
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError:
            raise Invalid(f"{name!r} is not UTF-8", field="archive") from None


def _validate_members(infos: list[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
    if len(infos) > MEMBERS:
        raise TooLarge(f"the archive has more than {MEMBERS} members", field="archive")
    members = {info.filename: info for info in infos}
    if len(members) < len(infos):
        raise ValueError("two members have the same name")
    if any(info.flag_bits & 1 for info in infos):
        raise ValueError("it is encrypted")
    if any(info.compress_type not in _METHODS for info in infos):
        raise ValueError("unsupported compression method")
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
            f"{name}, line {number}: longer than {ROW_BYTES} characters", field="archive"
        )
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict) or not is_json(row):
        raise Invalid(f"{name}, line {number}: not a JSON object", field="archive")
    return row


def describe_archive_error(error: ValidationError) -> str:
    """What is wrong and where, without what was said."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"])) or "it"
    return f"{place}: {first['msg']}"
