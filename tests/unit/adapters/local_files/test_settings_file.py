"""A settings file is replaced at once, keeps its mode, and stays a link if it is one."""

import os
import stat
from pathlib import Path

import pytest

from opencrab.adapters.local_files.settings_file import (
    MOST_BYTES,
    read_settings_file,
    write_settings_file,
)
from opencrab.domain.errors import Invalid, Unavailable


def test_what_is_written_is_read_and_a_new_file_is_private(tmp_path: Path) -> None:
    path = tmp_path / "new" / "config.toml"
    assert read_settings_file(path) is None
    write_settings_file(path, "名 = 1\r\n")
    assert read_settings_file(path) == "名 = 1\r\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    write_settings_file(path, "b = 2\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert [each.name for each in path.parent.iterdir()] == ["config.toml"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "dotfiles.toml", tmp_path / "config.toml"
    target.write_text("a = 1\n")
    link.symlink_to(target)
    write_settings_file(link, "a = 2\n")
    assert link.is_symlink()
    assert target.read_text() == "a = 2\n"


def test_what_is_no_readable_text_is_refused(tmp_path: Path) -> None:
    large = tmp_path / "large.toml"
    large.write_bytes(b"#" * (MOST_BYTES + 1))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (large, tmp_path):
        with pytest.raises(Invalid, match="cannot be read") as caught:
            read_settings_file(path)
        assert caught.value.cure


def test_a_disk_that_refuses_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Unavailable, match="cannot be written") as caught:
        write_settings_file(tmp_path / "file" / "config.toml", "")
    assert "--config" in (caught.value.cure or "")
