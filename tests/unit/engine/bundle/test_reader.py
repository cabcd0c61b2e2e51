"""Bundles that anybody may have made: each is refused whole, with what is wrong and what to do."""

import hashlib
import io
import json
import stat
import zipfile
from datetime import UTC, datetime

import pytest

from opencrab.domain.errors import Invalid, OpenCrabError, TooLarge
from opencrab.engine.bundle.limits import (
    BUNDLE_BYTES,
    BUNDLE_FILE_BYTES,
    BUNDLE_FILES,
    BUNDLE_ROW_BYTES,
)
from opencrab.engine.bundle.reader import BundleReader
from opencrab.engine.bundle.writer import BundleWriter
from tests.cases import for_each

NOW = datetime(2026, 11, 30, tzinfo=UTC)
AGENT = {"name": "蟹", "soul": {"persona_name": "蟹"}, "identity": {"name": "蟹"}}
MEMORY = {
    "id": "0" * 26,
    "category": "fact",
    "content": "蟹は横に歩く。",
    "created_at": NOW.isoformat(),
    "updated_at": NOW.isoformat(),
}


def written(
    *rows: tuple[str, object], contents: tuple[bytes, ...] = (), agent: object = AGENT
) -> bytes:
    """A bundle with these rows; strings are written as they are."""
    buffer = io.BytesIO()
    with BundleWriter(buffer, at=NOW) as bundle:
        for kind, row in (("agent", agent), *rows):
            bundle.add_row(kind, row if isinstance(row, str) else json.dumps(row))
        for content in contents:
            bundle.add_content(content)
    return buffer.getvalue()


def changed(content: bytes, **members: bytes | None) -> bytes:
    """A zip with other members beside its manifest, which does not know."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(buffer, "w") as new:
        for name in old.namelist():
            if name not in members:
                new.writestr(name, old.read(name))
        for name, text in members.items():
            if text is not None:
                new.writestr(name, text)
    return buffer.getvalue()


def read(content: bytes) -> BundleReader:
    """Read all of a bundle."""
    reader = BundleReader(io.BytesIO(content))
    reader.check()
    return reader


def file_row(path: str, content: bytes, **more: object) -> tuple[str, object]:
    """The row of a file."""
    sha256 = hashlib.sha256(content).hexdigest()
    return "file", {"path": path, "size": len(content), "sha256": sha256, **more}


def test_what_is_whole_is_read_as_it_was_written() -> None:
    content = written(("memory", MEMORY), file_row("庭.md", b"x"), contents=(b"x",))
    reader = read(content)
    assert reader.check() == {"memory": 1, "file": 1}
    assert reader.content(reader.files[0]) == b"x"
    assert written(("memory", MEMORY), file_row("庭.md", b"x"), contents=(b"x",)) == content


def manifest(**changes: object) -> bytes:
    """A bundle whose manifest says something else."""
    content = written(("memory", MEMORY))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        told = json.loads(archive.read("manifest.json")) | changes
    return changed(content, **{"manifest.json": json.dumps(told).encode()})


def linked() -> bytes:
    """A zip with a symbolic link among its members."""
    buffer = io.BytesIO(written())
    with zipfile.ZipFile(buffer, "a") as archive:
        info = zipfile.ZipInfo(f"files/{'0' * 64}")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    return buffer.getvalue()


def twice() -> bytes:
    """A zip with two members of one name."""
    buffer = io.BytesIO(written(("memory", MEMORY)))
    with zipfile.ZipFile(buffer, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("memory.jsonl", "{}")
    return buffer.getvalue()


def bomb() -> bytes:
    """A small zip that says it unpacks to more than a bundle may have."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", "{}")
        for number in range(9):
            with archive.open(f"files/{number:064d}", "w") as member:
                for _ in range(64):
                    member.write(bytes(1 << 20))
    return buffer.getvalue()


def lying_bomb() -> bytes:
    """A member that unpacks to more than its header says."""
    content = bytearray(written(("memory", MEMORY)))
    with zipfile.ZipFile(io.BytesIO(bytes(content))) as archive:
        size = archive.getinfo("memory.jsonl").file_size
    return bytes(content).replace(size.to_bytes(4, "little"), (7).to_bytes(4, "little"))


BROKEN: tuple[tuple[str, bytes, type[OpenCrabError], str], ...] = (
    ("nothing", b"", Invalid, "no bundle"),
    ("no zip", "冗談".encode() * 100, Invalid, "no bundle"),
    ("cut", written(("memory", MEMORY))[:-40], Invalid, "no bundle"),
    ("no manifest", changed(written(), **{"manifest.json": None}), Invalid, "no manifest.json"),
    ("newer", manifest(version=2), Invalid, "version 2"),
    ("other format", manifest(format="opencrab-memory"), Invalid, "not the bundle"),
    ("unknown field of the manifest", manifest(colour="red"), Invalid, "colour"),
    ("wrong type", manifest(rows=[]), Invalid, "rows"),
    (
        "changed rows",
        changed(written(("memory", MEMORY)), **{"memory.jsonl": b"{}\n"}),
        Invalid,
        "",
    ),
    ("missing", changed(written(("memory", MEMORY)), **{"memory.jsonl": None}), Invalid, "missing"),
    ("unknown member", changed(written(), **{"../../etc/passwd": b"x"}), Invalid, "does not know"),
    ("absolute member", changed(written(), **{"/etc/passwd": b"x"}), Invalid, "does not know"),
    ("link", linked(), Invalid, "is a link"),
    ("twice", twice(), Invalid, "several members"),
    ("lying bomb", lying_bomb(), Invalid, ""),
    ("no agent", changed(written(), **{"agent.jsonl": None}), Invalid, "agent.jsonl is missing"),
    ("hidden name", written(agent=AGENT | {"name": "蟹\u202e"}), Invalid, "U+202E"),
    ("unknown field", written(("memory", MEMORY | {"mood": "good"})), Invalid, "line 1: mood"),
    ("unknown field of the agent", written(agent=AGENT | {"wings": 2}), Invalid, "wings"),
    (
        "no JSON",
        written(
            ("memory", "{"),
        ),
        Invalid,
        "line 1: not a valid JSON object",
    ),
    (
        "a list",
        written(
            ("memory", "[]"),
        ),
        Invalid,
        "line 1",
    ),
    (
        "surrogate",
        written(
            ("memory", '{"id":"\\ud800"}'),
        ),
        Invalid,
        "line 1",
    ),
    (
        "deep",
        written(
            ("memory", '{"a":' * 5_000 + "1" + "}" * 5_000),
        ),
        Invalid,
        "line 1",
    ),
    (
        "long line",
        written(
            ("memory", '"' + "x" * BUNDLE_ROW_BYTES + '"'),
        ),
        TooLarge,
        "line 1",
    ),
    ("no content", written(file_row("a.md", b"x")), Invalid, "'a.md' is not in the bundle"),
    ("other content", written(file_row("a.md", b"x", size=2), contents=(b"x",)), Invalid, "'a.md'"),
    ("up", written(file_row("../a.md", b"x"), contents=(b"x",)), Invalid, "../a.md"),
    ("root", written(file_row("/etc/passwd", b"x"), contents=(b"x",)), Invalid, "/etc/passwd"),
    ("windows", written(file_row("C:\\a.md", b"x"), contents=(b"x",)), Invalid, "a.md"),
    ("device", written(file_row("nul.md", b"x"), contents=(b"x",)), Invalid, "nul.md"),
    ("turned", written(file_row("a\u202emd.exe", b"x"), contents=(b"x",)), Invalid, ""),
    (
        "same on some systems",
        written(file_row("A.md", b"x"), file_row("a.md", b"x"), contents=(b"x",)),
        Invalid,
        "the same on some systems",
    ),
    (
        "many files of one content",
        written(*(file_row(f"{n}.md", b"x") for n in range(BUNDLE_FILES + 1)), contents=(b"x",)),
        TooLarge,
        f"more than {BUNDLE_FILES} files",
    ),
    (
        "much of one content",
        written(
            *(file_row(f"{n}.md", b"x", size=BUNDLE_FILE_BYTES) for n in range(103)),
            contents=(b"x",),
        ),
        TooLarge,
        f"{BUNDLE_BYTES} bytes",
    ),
    (
        "large file",
        written(file_row("a.bin", b"x", size=BUNDLE_FILE_BYTES + 1), contents=(b"x",)),
        TooLarge,
        "'a.bin'",
    ),
)


@for_each(("name", "content", "error", "told"), BROKEN)
def test_what_is_broken_or_hostile_is_refused_with_what_to_do(
    name: str, content: bytes, error: type[OpenCrabError], told: str
) -> None:
    with pytest.raises(error) as refused:
        read(content)
    assert told in refused.value.message
    assert refused.value.cure, name


def test_a_small_file_that_unpacks_to_too_much_is_refused() -> None:
    with pytest.raises(TooLarge, match="unpacks to more") as refused:
        read(bomb())
    assert refused.value.cure


class Huge(io.RawIOBase):
    """A file of two gigabytes that must not be read."""

    def seek(self, place: int, whence: int = 0, /) -> int:
        return BUNDLE_BYTES * 4 if whence == 2 else place

    def read(self, _size: int = -1, /) -> bytes:
        raise AssertionError("it was read")


def test_a_huge_file_is_not_read() -> None:
    with pytest.raises(TooLarge, match="at most"):
        BundleReader(Huge())  # type: ignore[arg-type]
