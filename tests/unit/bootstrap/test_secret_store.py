"""Where the key of stored secrets lies, and that a start encrypts what is plain."""

import json
from pathlib import Path

import pytest

from opencrab.bootstrap.secret_store import (
    encrypted_local_secrets,
    local_keyring,
    local_secrets_key_file,
)


def test_the_key_lies_in_the_folder_of_states(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("OPENCRAB_SECRETS_KEY_FILE", raising=False)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    state = Path(".local", "state", "opencrab", "secrets.key")
    assert local_secrets_key_file() == tmp_path / state
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "s"))
    assert local_secrets_key_file() == tmp_path / "s" / "opencrab" / "secrets.key"
    monkeypatch.setenv("OPENCRAB_SECRETS_KEY_FILE", "~/mine.key")
    assert local_secrets_key_file() == tmp_path / "mine.key"


@pytest.mark.parametrize("is_writable", [True, False])
def test_a_start_encrypts_and_goes_on_where_it_cannot(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, is_writable: bool
) -> None:
    place = tmp_path / "state"
    if not is_writable:
        place.write_text("no folder", encoding="utf-8")
    monkeypatch.setenv("OPENCRAB_SECRETS_KEY_FILE", str(place / "secrets.key"))
    (tmp_path / "secrets.json").write_text(json.dumps({"A": "sk-plain"}), encoding="utf-8")
    secrets = encrypted_local_secrets(tmp_path)
    assert secrets.get("A") == "sk-plain"
    written = (tmp_path / "secrets.json").read_text(encoding="utf-8")
    assert ("sk-plain" in written) is not is_writable


def test_without_the_library_there_is_no_keyring() -> None:
    assert local_keyring() is None
