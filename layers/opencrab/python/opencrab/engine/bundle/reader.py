"""Reads a bundle as input from anybody: nothing in it names a place that is written to.

It is read from the disk as it is needed, so that a large one takes little memory.
"""

import hashlib
import json
import re
import stat
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

from pydantic import ValidationError

from opencrab.domain.bundle.agent import BundledAgent
from opencrab.domain.bundle.contents import AGENT, DOCUMENTS, FILE, BundledFile
from opencrab.domain.bundle.manifest import (
    BundleManifest,
    describe_bundle_error,
    read_bundle_manifest,
)
from opencrab.domain.errors import Invalid, TooLarge
from opencrab.domain.value import Value, is_json_value
from opencrab.domain.workspace.path import workspace_path, workspace_path_collision_key
from opencrab.engine.bundle.limits import (
    BUNDLE_BYTES,
    BUNDLE_FILE_BYTES,
    BUNDLE_FILES,
    BUNDLE_ROW_BYTES,
    BUNDLE_ROWS,
)
from opencrab.engine.bundle.writer import (
    BUNDLE_MEMBERS,
    MANIFEST,
    bundle_file_member,
    bundle_member,
)

_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
_CONTENT = re.compile(r"files/[0-9a-f]{64}")
_MEMBERS = BUNDLE_FILES + len(BUNDLE_MEMBERS) + 1
_CURE = "bundle the agent again, and send the file unchanged"
_UNREADABLE = (zipfile.BadZipFile, zlib.error, RuntimeError, EOFError, OSError)


class BundleRow(NamedTuple):
    """A row as it was read: its kind, the checked value, and its text."""

    kind: str
    value: Value
    text: str


class BundleReader:
    """A bundle from outside. Raises Invalid and TooLarge, which name the member and the line."""

    def __init__(self, file: IO[bytes]) -> None:
        self._zip, self._members = _open_members(file)
        with self._open(MANIFEST) as member:
            head = _read_line(member, MANIFEST, 1)
        self.manifest: BundleManifest = read_bundle_manifest(
            _row(MANIFEST, 1, _text(MANIFEST, 1, head))
        )
        self.agent = self._agent()
        self.files = tuple(self._files())

    def _agent(self) -> BundledAgent:
        found = [each.value for each in self._kind(AGENT)]
        if len(found) != 1 or not isinstance(found[0], BundledAgent):
            raise Invalid(
                f"the bundle has {len(found)} agents, it must have one", field="bundle", cure=_CURE
            )
        return found[0]

    def _files(self) -> Iterator[BundledFile]:
        taken, size = dict[str, str](), 0
        for row in self._kind(FILE):
            file = row.value
            if not isinstance(file, BundledFile):
                continue
            # Thousands of rows may name one small member.
            size += file.size
            if len(taken) >= BUNDLE_FILES or size > BUNDLE_BYTES:
                raise TooLarge(
                    f"it has more than {BUNDLE_FILES} files, or {BUNDLE_BYTES} bytes in files",
                    field="bundle",
                    cure="remove some from the workspace, then bundle the agent again",
                )
            path = workspace_path(file.path)
            if (other := taken.setdefault(workspace_path_collision_key(path), path)) != path or (
                file.path != path
            ):
                raise Invalid(
                    f"the files {other!r} and {file.path!r} are the same on some systems"
                    if other != path
                    else f"{file.path!r} is not a path in its stored form",
                    field="bundle",
                    cure="rename one of them, then bundle the agent again",
                )
            if bundle_file_member(file.sha256) not in self._members:
                raise Invalid(
                    f"the content of {file.path!r} is not in the bundle", field="bundle", cure=_CURE
                )
            if file.size > BUNDLE_FILE_BYTES:
                raise TooLarge(
                    f"{file.path!r} has {file.size} bytes, at most {BUNDLE_FILE_BYTES} are allowed",
                    field="bundle",
                    cure="move it out of the workspace, then bundle the agent again",
                )
            yield file

    def rows(self) -> Iterator[BundleRow]:
        """Yield the checked documents, in the order in which they are taken in."""
        for kind in DOCUMENTS:
            yield from self._kind(kind)

    def content(self, file: BundledFile) -> bytes:
        """Return the content of a file; raises Invalid if it is not what its row says."""
        with self._open(bundle_file_member(file.sha256)) as member:
            content = _read(member, file.path, file.size + 1)
        if len(content) != file.size or hashlib.sha256(content).hexdigest() != file.sha256:
            raise Invalid(
                f"the content of {file.path!r} is not the one that was bundled",
                field="bundle",
                cure=_CURE,
            )
        return content

    def sessions(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of sessions, if the bundle has any: `kind` and `value`."""
        for _, row, _ in self._lines("sessions.jsonl"):
            yield row

    def check(self) -> Counter[str]:
        """Read all of it once, and return the number of rows of each kind and of files."""
        counts = Counter(row.kind for row in self.rows())
        counts[FILE] = len(self.files)
        for file in self.files:
            self.content(file)
        counts["session"] = sum(row.get("kind") == "session" for row in self.sessions())
        return +counts

    def _kind(self, kind: str) -> Iterator[BundleRow]:
        models: dict[str, type[Value]] = {AGENT: BundledAgent, FILE: BundledFile, **DOCUMENTS}
        model = models[kind]
        name = bundle_member(kind)
        for number, row, text in self._lines(name):
            try:
                value = model.model_validate(row)
            except ValidationError as error:
                raise Invalid(
                    f"{name}, line {number}: {describe_bundle_error(error)}",
                    field="bundle",
                    cure="correct this line, or bundle the agent with this release",
                ) from None
            yield BundleRow(kind, value, text)

    def _lines(self, name: str) -> Iterator[tuple[int, dict[str, Any], str]]:
        if name not in self._members:
            if name in self.manifest.hashes:
                raise Invalid(f"{name} is missing", field="bundle", cure=_CURE)
            return
        digest = hashlib.sha256()
        with self._open(name) as member:
            for number in range(1, BUNDLE_ROWS + 2):
                line = _read_line(member, name, number)
                if not line:
                    break
                if number > BUNDLE_ROWS:
                    raise TooLarge(
                        f"{name} has more than {BUNDLE_ROWS} rows", field="bundle", cure=_CURE
                    )
                digest.update(line)
                text = _text(name, number, line)
                if text.strip():
                    yield number, _row(name, number, text), text.rstrip("\n")
        if digest.hexdigest() != self.manifest.hashes.get(name):
            raise Invalid(
                f"{name} is not the one that was bundled: its hash differs",
                field="bundle",
                cure=_CURE,
            )

    def _open(self, name: str) -> IO[bytes]:
        try:
            return self._zip.open(self._members[name])
        except _UNREADABLE as error:
            raise _unreadable(name, error) from None


def _open_members(file: IO[bytes]) -> tuple[zipfile.ZipFile, dict[str, zipfile.ZipInfo]]:
    size = file.seek(0, 2)
    if size > BUNDLE_BYTES:
        raise TooLarge(
            f"the bundle has {size} bytes, at most {BUNDLE_BYTES} are allowed",
            field="bundle",
            cure="remove large files from the workspace, then bundle the agent again",
        )
    file.seek(0)
    try:
        opened = zipfile.ZipFile(file)
        infos = opened.infolist()
        _require_plain(infos)
    except (*_UNREADABLE, NotImplementedError, ValueError) as error:
        raise Invalid(
            f"the file is no bundle: {error}",
            field="bundle",
            cure="choose a file that `opencrab agents bundle` wrote",
        ) from None
    if sum(info.file_size for info in infos) > BUNDLE_BYTES:
        raise TooLarge(
            f"the bundle unpacks to more than {BUNDLE_BYTES} bytes",
            field="bundle",
            cure="remove large files from the workspace, then bundle the agent again",
        )
    return opened, {info.filename: info for info in infos}


def _require_plain(infos: list[zipfile.ZipInfo]) -> None:
    if len(infos) > _MEMBERS:
        raise ValueError(f"it has {len(infos)} members, at most {_MEMBERS} are allowed")
    names = Counter(info.filename for info in infos)
    if twice := [name for name, count in names.items() if count > 1]:
        raise ValueError(f"several members have the name {twice[0][:80]!r}")
    if MANIFEST not in names:
        raise ValueError(f"it has no {MANIFEST}")
    for info in infos:
        known = info.filename in {MANIFEST, *BUNDLE_MEMBERS} or _CONTENT.fullmatch(info.filename)
        if not known:
            raise ValueError(f"this release does not know its member {info.filename[:80]!r}")
        if stat.S_ISLNK(info.external_attr >> 16):
            raise ValueError(f"{info.filename!r} is a link")
        if info.flag_bits & 1 or info.compress_type not in _METHODS:
            raise ValueError(f"{info.filename!r} is encrypted, or not stored or deflated")


def _read(member: IO[bytes], name: str, most: int) -> bytes:
    try:
        return member.read(most)
    except _UNREADABLE as error:
        raise _unreadable(name, error) from None


def _read_line(member: IO[bytes], name: str, number: int) -> bytes:
    try:
        line = member.readline(BUNDLE_ROW_BYTES + 1)
    except _UNREADABLE as error:
        raise _unreadable(name, error) from None
    if len(line) > BUNDLE_ROW_BYTES:
        raise TooLarge(
            f"{name}, line {number}: more than {BUNDLE_ROW_BYTES} bytes",
            field="bundle",
            cure="shorten or remove this line",
        )
    return line


def _unreadable(name: str, error: BaseException) -> Invalid:
    return Invalid(f"{name!r} cannot be decompressed: {error}", field="bundle", cure=_CURE)


def _text(name: str, number: int, line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        raise Invalid(f"{name}, line {number}: not UTF-8", field="bundle", cure=_CURE) from None


def _row(name: str, number: int, text: str) -> dict[str, Any]:
    try:
        row = json.loads(text)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict) or not is_json_value(row):
        raise Invalid(f"{name}, line {number}: not a valid JSON object", field="bundle", cure=_CURE)
    return row
