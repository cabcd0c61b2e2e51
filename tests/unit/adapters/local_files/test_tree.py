"""Trees of files: what cannot be read is never taken for empty."""

import os
from pathlib import Path

import pytest

from opencrab.adapters.local_files.tree import local_files_below, local_links_and_devices
from opencrab.domain.errors import Unavailable


def test_a_folder_that_is_not_there_has_no_files(tmp_path: Path) -> None:
    assert list(local_files_below(tmp_path, below="ノート")) == []


def test_what_cannot_be_read_as_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "ノート").write_text("a file in the place of a folder")
    with pytest.raises(Unavailable, match=r"ノート.*cannot be read") as refused:
        list(local_files_below(tmp_path, below="ノート"))
    assert refused.value.cure
    with pytest.raises(Unavailable, match="cannot be read"):
        list(local_links_and_devices(tmp_path / "ノート"))


@pytest.mark.skipif(os.geteuid() == 0, reason="the root user may read every folder")
def test_a_folder_without_permission_is_named(tmp_path: Path) -> None:
    closed = tmp_path / "notes"
    closed.mkdir(mode=0)
    with pytest.raises(Unavailable, match=r"notes.*cannot be read"):
        list(local_files_below(tmp_path))
    closed.chmod(0o700)
