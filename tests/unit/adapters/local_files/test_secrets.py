"""Secrets in a file: its owner's alone, written whole or not at all, and never shown."""

import errno
import json
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from opencrab.adapters.local_files import Disk, FileSecrets
from opencrab.domain.errors import Invalid, Unavailable
from tests.contract.waiting import at_once
from tests.unit.adapters.local_files.disks import Faults

KEY = "sk-canary-0123456789"
MOST_CALLS = 25


def kept(folder: Path) -> dict[str, str]:
    """What the file holds."""
    values: dict[str, str] = json.loads((folder / "secrets.json").read_text(encoding="utf-8"))
    return values


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def shown(error: BaseException | None) -> str:
    """All that an error could show in a log, with everything behind it."""
    words = []
    while error is not None:
        words.append(f"{error!r} {error} {vars(error)}")
        error = error.__cause__ or error.__context__
    return " ".join(words)


def test_there_is_no_secret_where_there_is_no_file(tmp_path: Path) -> None:
    assert FileSecrets(tmp_path / "データ").get("OPENAI_API_KEY") is None
    assert list(tmp_path.iterdir()) == []


def test_what_is_kept_is_found_by_everybody_at_once(tmp_path: Path) -> None:
    one, other = FileSecrets(tmp_path / "データ"), FileSecrets(tmp_path / "データ")
    one.put("OPENAI_API_KEY", KEY)
    assert other.get("OPENAI_API_KEY") == KEY
    other.put("OPENAI_API_KEY", "new")
    other.put("XAI_API_KEY", "二".encode("unicode_escape").decode())
    one.forget()
    assert one.get("OPENAI_API_KEY") == "new"
    assert one.get("XAI_API_KEY") == "\\u4e8c"
    assert one.get("OTHER") is None


def test_nobody_but_its_owner_may_read_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        FileSecrets(tmp_path / "data").put("A", KEY)
    finally:
        os.umask(before)
    for path in (tmp_path / "data").rglob("*"):
        assert mode(path) in ({0o600} if path.is_file() else {0o700})
    assert mode(tmp_path / "data") == 0o700


def test_a_file_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    file = tmp_path / "secrets.json"
    file.write_text(json.dumps({"A": KEY}), encoding="utf-8")
    file.chmod(0o644)
    assert FileSecrets(tmp_path).get("A") == KEY
    assert mode(file) == 0o600


def test_a_change_by_hand_counts_at_once(tmp_path: Path) -> None:
    secrets = FileSecrets(tmp_path)
    secrets.put("A", KEY)
    (tmp_path / "secrets.json").write_text('{"A": "別", "B": "2"}', encoding="utf-8")
    assert (secrets.get("A"), secrets.get("B")) == ("別", "2")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        KEY.encode(),
        f'["{KEY}"]'.encode(),
        f'{{"A": ["{KEY}"]}}'.encode(),
        f'{{"A": "{KEY}'.encode(),
        b'{"A": 1}',
        b"\xff\xfe\x00",
        b"[" * 60_000,
        json.dumps({"A": KEY * 5_000}).encode(),
    ],
    ids=["empty", "bare", "list", "nested", "cut", "number", "bytes", "deep", "large"],
)
def test_a_file_that_cannot_be_read_is_refused_left_alone_and_not_shown(
    tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "secrets.json"
    file.write_bytes(content)
    secrets = FileSecrets(tmp_path)
    acts: list[Callable[[], object]] = [lambda: secrets.get("A"), lambda: secrets.put("B", "v")]
    for act in acts:
        with pytest.raises(Unavailable, match=r"secrets\.json") as refusal:
            act()
        assert refusal.value.cure
        assert KEY not in shown(refusal.value)
    assert file.read_bytes() == content


@pytest.mark.parametrize("name", ["secrets.json", "secrets.json.lock"])
def test_links_are_not_followed(tmp_path: Path, name: str) -> None:
    target = tmp_path / "target"
    target.write_text('{"A": "1"}', encoding="utf-8")
    data = tmp_path / "data"
    data.mkdir()
    (data / name).symlink_to(target)
    with pytest.raises(Unavailable, match="link") as refusal:
        FileSecrets(data).put("A", KEY)
    assert refusal.value.cure
    assert target.read_text(encoding="utf-8") == '{"A": "1"}'


def test_a_link_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "target").write_text('{"A": "1"}', encoding="utf-8")
    (tmp_path / "secrets.json").symlink_to(tmp_path / "target")
    with pytest.raises(Unavailable, match="link"):
        FileSecrets(tmp_path).get("A")


def test_what_is_no_file_is_refused_and_never_waited_for(tmp_path: Path) -> None:
    (tmp_path / "secrets.json").mkdir()
    with pytest.raises(Unavailable, match="not a regular file"):
        FileSecrets(tmp_path).get("A")
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / "secrets.json")
    with pytest.raises(Unavailable, match="not a regular file"):
        FileSecrets(tmp_path / "pipe").get("A")


@pytest.mark.parametrize(
    ("name", "value"),
    [("a", KEY), ("", KEY), ("../A", KEY), ("A", ""), ("A", "鍵"), ("A", "x y"), ("A", "\ud83e")],
)
def test_what_cannot_be_kept_is_refused_before_anything_is_written(
    tmp_path: Path, name: str, value: str
) -> None:
    with pytest.raises(Invalid):
        FileSecrets(tmp_path).put(name, value)
    assert list(tmp_path.iterdir()) == []


def test_more_than_can_be_read_again_is_never_written(tmp_path: Path) -> None:
    secrets = FileSecrets(tmp_path)
    for number in range(7):
        secrets.put(f"K{number}", "x" * 8_192)
    with pytest.raises(Unavailable, match="larger than") as refusal:
        secrets.put("K8", "y" * 8_192)
    assert refusal.value.cure
    assert "yyy" not in shown(refusal.value)
    assert len(kept(tmp_path)) == 7


def test_of_changes_at_once_none_is_lost(tmp_path: Path) -> None:
    def put(number: int) -> None:
        own = FileSecrets(tmp_path)
        for turn in range(3):
            own.put(f"K{number}_{turn}", str(number))

    at_once(8, put)
    assert len(kept(tmp_path)) == 24


@pytest.mark.parametrize("afterwards", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", range(MOST_CALLS))
def test_whatever_call_fails_the_old_secrets_are_there_or_the_new(
    tmp_path: Path, at: int, *, afterwards: bool
) -> None:
    FileSecrets(tmp_path).put("A", "old")
    faults = Faults(at, afterwards=afterwards)
    with suppress(Unavailable):
        FileSecrets(tmp_path, disk=faults.disk()).put("A", KEY)
        assert not faults.failed, "a failure must not pass for a success"
    assert kept(tmp_path) in ({"A": "old"}, {"A": KEY})
    FileSecrets(tmp_path).put("B", "2")
    assert list((tmp_path / ".secrets").iterdir()) == [], "what a dead process left is removed"


def test_a_full_disk_is_told_without_the_secret(tmp_path: Path) -> None:
    def full(_descriptor: int, _rest: memoryview) -> int:
        raise OSError(errno.ENOSPC, "no space")

    with pytest.raises(Unavailable, match="disk full") as refusal:
        FileSecrets(tmp_path, disk=Disk(write=full)).put("A", KEY)
    assert refusal.value.cure
    assert KEY not in shown(refusal.value)


def test_no_form_of_it_shows_a_value(tmp_path: Path) -> None:
    secrets = FileSecrets(tmp_path)
    secrets.put("A", KEY)
    assert secrets.get("A") == KEY
    assert KEY not in f"{secrets!r} {secrets} {vars(secrets)}"
    assert str(tmp_path) in repr(secrets)
