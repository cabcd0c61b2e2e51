"""Large journal bodies: kept under their own hash, whole or not at all."""

from contextlib import suppress
from pathlib import Path

import pytest

from opencrab.adapters.local_files import LocalBlobs
from opencrab.domain.errors import Invalid, NotFound, Unavailable
from opencrab.domain.identifier import content_hash
from tests.unit.adapters.local_files.disks import Faults, growing

BODIES = ["とても長い答え 🦀".encode() * 100, b"a very long answer" * 100, b""]


@pytest.mark.parametrize("body", BODIES, ids=["ja", "en", "empty"])
def test_what_was_put_is_got_also_after_a_restart(body: bytes, tmp_path: Path) -> None:
    LocalBlobs(tmp_path).put(content_hash(body), body)
    assert LocalBlobs(tmp_path).get(content_hash(body)) == body


def test_put_twice_is_put_once(tmp_path: Path) -> None:
    blobs, digest = LocalBlobs(tmp_path), content_hash(BODIES[0])
    blobs.put(digest, BODIES[0])
    blobs.put(digest, BODIES[0])
    assert len([each for each in (tmp_path / "blobs").rglob("*") if each.is_file()]) == 1


@pytest.mark.parametrize("name", ["0" * 64, "", "../x", "A" * 64, "海"])
def test_what_was_never_put_is_not_found(name: str, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="missing or damaged"):
        LocalBlobs(tmp_path).get(name)


def test_content_under_a_foreign_hash_is_refused(tmp_path: Path) -> None:
    blobs = LocalBlobs(tmp_path)
    with pytest.raises(Invalid, match="does not match"):
        blobs.put("0" * 64, b"x")
    with pytest.raises(Invalid):
        blobs.put("../../x", b"x")


@pytest.mark.parametrize("damage", [b"", b"other"])
def test_a_damaged_blob_is_never_answered_and_can_be_put_again(
    damage: bytes, tmp_path: Path
) -> None:
    blobs, body = LocalBlobs(tmp_path), BODIES[0]
    digest = content_hash(body)
    blobs.put(digest, body)
    (tmp_path / "blobs" / digest[:2] / digest[2:]).write_bytes(damage)
    with pytest.raises(NotFound):
        blobs.get(digest)
    blobs.put(digest, body)
    assert blobs.get(digest) == body


@pytest.mark.parametrize("at", range(25))
def test_whatever_call_fails_a_blob_is_whole_or_missing(at: int, tmp_path: Path) -> None:
    faults, body = Faults(), BODIES[1]
    blobs, digest = LocalBlobs(tmp_path, disk=faults.disk()), content_hash(BODIES[1])
    faults.arm(at)
    with suppress(Unavailable):
        blobs.put(digest, body)
        assert not faults.failed
    faults.arm(-1)
    with suppress(NotFound):
        assert blobs.get(digest) == body
    assert growing(tmp_path / "blobs") == []
    blobs.put(digest, body)
    assert LocalBlobs(tmp_path).get(digest) == body
