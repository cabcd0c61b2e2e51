"""Hostile paths, generated: whatever a workspace takes lies inside of it, in every adapter.

`make soak` tries a hundred thousand; each path is the same wherever it is tried.
"""

import io
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import md5
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from opencrab.adapters.local_files import Disk, LocalFiles
from opencrab.adapters.s3_files import S3Files
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.errors import Invalid, NotFound
from opencrab.ports.workspace.files import Files
from tests.ledgers import MemoryLedger
from tests.soak import count

PATHS = count("sequences of paths in a workspace")
NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)
CANARY = "the owner's secret / オーナーの秘密"

NAMES = (
    "a", "A", "\uff41", "memo.md", "Memo.MD", "ﾒﾓ", "メモ", "か\u3099", "が", "straße", "STRASSE",
    "海", "owner.key", "workspace", "mika", "ken", "versions", ".writing", ".keep", ".git", "~",
    "$HOME", "con", "NUL.txt", "COM1", "lpt9.log", "aux ", "conin$", "%2e%2e", "%2F", "..;", "...",
    "C:",
    "a:b", "*", "?", "<", "|", '"', "x" * 120, "海" * 66, "x" * 201, "agents", "-rf", "\U000e0041",
)  # fmt: skip
HOSTILE = (
    "..", ".", "", " ", "\u3000", "\uff0e\uff0e", "\uff0f", "\\", "\u2215", "\u2044", "\x00", "\n",
    "\r", "\x1b", "\u202e", "\u2066", "\u200b", "\ufeff", "\ud800", "\u0301", "\u2028", "‥",
    "…", "\x7f",
)  # fmt: skip
AFFIXES = (*[""] * 30, "/", "//", "../", "./", "/../", "\\..\\", "C:/", "file:///", "~/", "\\\\?\\")


def hostile_path(number: int) -> str:
    """The path of this number: names and what breaks out, joined by all that might separate."""
    chance = random.Random(number)  # noqa: S311 - the same every time
    parts = chance.choices((*NAMES, *HOSTILE), k=chance.choice((1, 1, 2, 2, 3, 4, 18)))
    if number % 2:
        parts = chance.choices(NAMES[:24], k=chance.choice((1, 2, 3)))
    if chance.random() < 0.2:
        parts.append("".join(chr(chance.randrange(0x20, 0x3100)) for _ in range(3)))
    separator = chance.choices(("/", "//", "\\", "", "/../"), weights=(12, 1, 1, 1, 1))[0]
    before, after = chance.choice(AFFIXES), chance.choice(("", "", "", "", "/", "/.."))
    return before + separator.join(parts) + after


class PlainBucket:
    """A client of S3 as far as S3Files goes, which keeps objects in memory and knows every key."""

    def __init__(self) -> None:
        self.objects: dict[str, tuple[bytes, dict[str, Any]]] = {}
        self.keys: set[str] = set()

    def put_object(self, **call: Any) -> dict[str, Any]:
        key, body = call["Key"], call["Body"]
        self.keys.add(key)
        etag = f'"{md5(body, usedforsecurity=False).hexdigest()}"'
        answer = {"ETag": etag, "VersionId": f"v{len(self.keys)}", "Metadata": call["Metadata"]}
        self.objects[key] = (body, {**answer, "ContentLength": len(body)})
        return answer

    def head_object(self, **call: Any) -> dict[str, Any]:
        key = call["Key"]
        self.keys.add(key)
        if key not in self.objects:
            raise ClientError({"Error": {"Code": "404"}}, "HeadObject")
        return self.objects[key][1]

    def get_object(self, **call: Any) -> dict[str, Any]:
        facts = self.head_object(**call)
        return {**facts, "Body": io.BytesIO(self.objects[call["Key"]][0])}

    def delete_object(self, **call: Any) -> dict[str, Any]:
        del self.objects[call["Key"]]
        return {}

    def list_objects_v2(self, **call: Any) -> dict[str, Any]:
        self.keys.add(call["Prefix"])
        found = [
            {"Key": key, "Size": len(body), "ETag": facts["ETag"]}
            for key, (body, facts) in sorted(self.objects.items())
            if key.startswith(call["Prefix"])
        ]
        return {"Contents": found}

    def list_object_versions(self, **call: Any) -> dict[str, Any]:
        self.keys.add(call["Prefix"])
        return {}


@contextmanager
def local(folder: Path) -> Iterator[tuple[Files, Callable[[str], None]]]:
    """A directory between others; the check compares all that does not belong to Mika."""
    root = folder / "data"
    files = LocalFiles(root, disk=Disk(fsync=lambda _: None))
    for place in (folder / "owner.key", root / "owner.key", root / "mika" / "owner.key"):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(CANARY)
    files.write("ken", "owner.key", CANARY.encode())
    files.write("mika", "first", b"x")
    inside = root / "mika" / "workspace"

    def check(path: str) -> None:
        (place,) = (each for each in inside.rglob("*") if each.is_file() and each.name != "first")
        assert place == inside / path
        assert place.resolve().relative_to(inside.resolve()).as_posix() == path

    before = set(_outside(folder, inside))
    yield files, check
    assert set(_outside(folder, inside)) == before
    assert [each.name for each in inside.iterdir()] == ["first"]
    assert all(place.read_text() == CANARY for place in folder.rglob("owner.key"))


def _outside(folder: Path, inside: Path) -> Iterator[Path]:
    beside = {inside.parent / "versions", inside.parent / "clean"}
    for place in folder.rglob("*"):
        if inside not in place.parents and not beside & {place, *place.parents}:
            yield place


@contextmanager
def s3(folder: Path) -> Iterator[tuple[Files, Callable[[str], None]]]:
    """A bucket that somebody else has objects in; the check looks at every key ever named."""
    bucket, clock = PlainBucket(), FakeClock(NOW)
    files = S3Files(
        bucket,
        "bucket",
        quota_bytes=1_000_000,
        file_bytes=1_000,
        ledger=MemoryLedger(),
        clock=clock,
    )
    files.write("ken", "owner.key", CANARY.encode())
    bucket.put_object(Key="owner.key", Body=CANARY.encode(), Metadata={})
    others = dict(bucket.objects)
    bucket.keys.clear()

    def check(path: str) -> None:
        (key,) = bucket.objects.keys() - others
        assert key == f"agents/mika/workspace/{path}"

    yield files, check
    assert bucket.objects == others
    for key in bucket.keys:
        assert key.startswith("agents/mika/workspace/")
        assert not {"..", "."} & set(key.split("/"))


@pytest.mark.timeout(max(60, PATHS // 50))
@pytest.mark.parametrize("adapter", [local, s3], ids=lambda adapter: adapter.__name__)
def test_no_generated_path_escapes(adapter: Any, tmp_path: Path) -> None:
    taken = 0
    with adapter(tmp_path) as (files, check):
        for number in range(PATHS):
            taken += tries(files, hostile_path(number), check)
    assert PATHS // 10 < taken < PATHS * 9 // 10, f"{taken} of {PATHS}: not much of a test"


def tries(files: Files, path: str, check: Callable[[str], None]) -> bool:
    """Do everything that can be done with a path; whether it is one."""
    try:
        written = files.write("mika", path, b"mine", clean=True)
    except Invalid:
        for attempt in (files.read, files.delete, files.versions, files.info):
            with pytest.raises(Invalid):
                attempt("mika", path)
        see_nothing_else(files, path)
        return False
    check(written.path)
    assert files.read("mika", path) == (written, b"mine")
    assert [each.path for each in files.list("mika") if each.path != "first"] == [written.path]
    see_nothing_else(files, path.rpartition("/")[0])
    files.delete("mika", path)
    return True


def see_nothing_else(files: Files, folder: str) -> None:
    """A list of whatever this is shows nobody else's files."""
    try:
        listed = files.list("mika", folder)
    except (Invalid, NotFound):
        return
    for info in listed:
        assert files.read("mika", info.path)[1] != CANARY.encode()
