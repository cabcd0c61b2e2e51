"""Stored secrets are encrypted, with a key that no copy of their folder has."""

import json
import logging
import os
import stat
from pathlib import Path

import pytest

from opencrab.adapters.local_files.disk import Disk
from opencrab.adapters.local_files.secret_cipher import MARK, SecretCipher
from opencrab.adapters.local_files.secrets import FileSecrets
from opencrab.domain.errors import Unavailable

KEY = "sk-canary-0123456789"


class Ring:
    """A keyring in memory."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service_name: str, username: str) -> str | None:
        return self.kept.get((service_name, username))

    def set_password(self, service_name: str, username: str, password: str) -> None:
        self.kept[service_name, username] = password


def secrets_in(folder: Path) -> FileSecrets:
    """Secrets of a data folder, whose key lies beside it."""
    return FileSecrets(folder / "data", cipher=SecretCipher(folder / "state" / "secrets.key"))


def test_what_is_stored_is_not_readable_in_the_folder(tmp_path: Path) -> None:
    secrets_in(tmp_path).put("OPENAI_API_KEY", KEY)
    assert secrets_in(tmp_path).get("OPENAI_API_KEY") == KEY
    for path in (tmp_path / "data").rglob("*"):
        assert path.is_dir() or KEY.encode() not in path.read_bytes()
    file = tmp_path / "state" / "secrets.key"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_copy_of_the_folder_has_no_key(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    secrets_in(tmp_path).put("OPENAI_API_KEY", KEY)
    other = FileSecrets(tmp_path / "data", cipher=SecretCipher(tmp_path / "elsewhere" / "key"))
    with caplog.at_level(logging.WARNING):
        assert other.get("OPENAI_API_KEY") is None
    assert "store it again" in caplog.text
    other.put("OPENAI_API_KEY", "sk-new")
    assert other.get("OPENAI_API_KEY") == "sk-new"


def test_plain_values_count_and_are_encrypted_at_the_start_or_with_the_next_write(
    tmp_path: Path,
) -> None:
    file = tmp_path / "data" / "secrets.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"A": KEY, "AOI_TOKEN": "by-hand"}), encoding="utf-8")
    secrets = secrets_in(tmp_path)
    assert (secrets.get("A"), secrets.get("AOI_TOKEN")) == (KEY, "by-hand")
    secrets.encrypt_stored()
    written = json.loads(file.read_text(encoding="utf-8"))
    assert all(text.startswith(MARK) for text in written.values())
    before = file.read_bytes()
    secrets.encrypt_stored()
    assert file.read_bytes() == before
    file.write_text(json.dumps({**written, "B": "plain"}), encoding="utf-8")
    secrets.put("C", "new")
    assert "plain" not in file.read_text(encoding="utf-8")
    found = [secrets.get(name) for name in ("A", "AOI_TOKEN", "B", "C")]
    assert found == [KEY, "by-hand", "plain", "new"]


def test_the_release_before_starts_and_sees_texts(tmp_path: Path) -> None:
    """It reads the same file without a cipher: a text that its provider refuses, and no error."""
    secrets_in(tmp_path).put("OPENAI_API_KEY", KEY)
    seen = FileSecrets(tmp_path / "data").get("OPENAI_API_KEY")
    assert seen is not None
    assert seen.startswith(MARK)


def test_values_cannot_be_exchanged(tmp_path: Path) -> None:
    secrets = secrets_in(tmp_path)
    secrets.put("A", "one")
    secrets.put("B", "two")
    file = tmp_path / "data" / "secrets.json"
    written = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({"A": written["B"], "B": MARK + "x"}), encoding="utf-8")
    assert (secrets.get("A"), secrets.get("B")) == (None, None)


def test_a_keyring_has_the_key_where_there_is_one_and_no_file(tmp_path: Path) -> None:
    ring, file = Ring(), tmp_path / "secrets.key"
    sealed = SecretCipher(file, lambda: ring).seal_secret("A", KEY)
    assert not file.exists()
    assert len(ring.kept["opencrab", "secrets"]) == 64
    assert SecretCipher(file, lambda: ring).unseal_secret("A", sealed) == KEY
    assert SecretCipher(file).unseal_secret("A", sealed) is None


def test_an_existing_file_goes_before_a_keyring(tmp_path: Path) -> None:
    file, ring = tmp_path / "secrets.key", Ring()
    sealed = SecretCipher(file).seal_secret("A", KEY)
    both = SecretCipher(file, lambda: ring)
    assert both.unseal_secret("A", sealed) == KEY
    both.seal_secret("B", KEY)
    assert ring.kept == {}


def test_the_key_of_who_was_first_counts(tmp_path: Path) -> None:
    file = tmp_path / "secrets.key"
    first = SecretCipher(file)

    def late(count: int) -> bytes:
        if not file.exists():
            first.seal_secret("A", KEY)
        return os.urandom(count)

    sealed = SecretCipher(file, random_bytes=late).seal_secret("A", KEY)
    assert first.unseal_secret("A", sealed) == KEY
    assert [path.name for path in tmp_path.iterdir()] == ["secrets.key"]


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 33])
def test_a_key_file_that_is_none_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "secrets.key"
    file.write_bytes(content)
    with pytest.raises(Unavailable, match="32 bytes") as caught:
        SecretCipher(file).seal_secret("A", KEY)
    assert caught.value.cure
    assert file.read_bytes() == content


def test_a_key_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    file = tmp_path / "secrets.key"
    sealed = SecretCipher(file).seal_secret("A", KEY)
    file.chmod(0o644)
    assert SecretCipher(file).unseal_secret("A", sealed) == KEY
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_folder_that_cannot_be_made_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("no folder", encoding="utf-8")
    with pytest.raises(Unavailable, match=r"secrets\.key") as caught:
        secrets_in(tmp_path).put("A", KEY)
    assert "OPENCRAB_SECRETS_KEY_FILE" in str(caught.value.cure)
    assert not (tmp_path / "data" / "secrets.json").exists()


def test_a_folder_in_the_place_of_the_key_is_named_and_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    folder.mkdir(mode=0o755)
    with pytest.raises(Unavailable, match="not a regular file") as caught:
        SecretCipher(folder).seal_secret("NAME", KEY)
    assert "name another file" in (caught.value.cure or "")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755


def test_a_pipe_in_the_place_of_the_key_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "key")
    with pytest.raises(Unavailable, match="not a regular file"):
        SecretCipher(tmp_path / "key").unseal_secret("NAME", MARK)


class LockedRing(Ring):
    """A keyring that its user did not unlock."""

    def get_password(self, service_name: str, username: str) -> str | None:
        raise RuntimeError(service_name, username)


def test_a_locked_keyring_is_an_error_and_its_key_is_not_replaced(tmp_path: Path) -> None:
    ring = LockedRing()
    with pytest.raises(Unavailable, match="keyring") as caught:
        SecretCipher(tmp_path / "key", lambda: ring).seal_secret("NAME", KEY)
    assert caught.value.cure == "unlock it and try again"
    assert ring.kept == {}


def test_a_new_key_survives_a_power_cut_before_anything_is_encrypted_with_it(
    tmp_path: Path,
) -> None:
    opened = dict[int, Path]()
    done = list[tuple[str, Path]]()

    def open_file(path: Path, flags: int, mode: int) -> int:
        descriptor = os.open(path, flags, mode)
        opened[descriptor] = path
        return descriptor

    def link(source: Path, target: Path) -> None:
        os.link(source, target)
        done.append(("link", target))

    disk = Disk(
        open_file=open_file, fsync=lambda one: done.append(("fsync", opened[one])), link=link
    )
    file = tmp_path / "state" / "opencrab" / "secrets.key"
    SecretCipher(file, disk=disk).seal_secret("NAME", KEY)
    assert done == [
        ("fsync", tmp_path),
        ("fsync", tmp_path / "state"),
        ("link", file),
        ("fsync", file.parent),
    ]
