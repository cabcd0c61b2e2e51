"""Locks are read whole: names in one spelling, markers and extras aside."""

from pathlib import Path

import pytest

from infra.audit.locks import Pin, read_pins


def test_every_pin_is_read_whatever_system_it_is_for(tmp_path: Path) -> None:
    (tmp_path / "runtime.txt").write_text(
        "# comment==1\nPy_Win.32==312 ; sys_platform == 'win32' \\\n    --hash=sha256:00\n"
        "moto[s3]==5.2.5 \\\n    --hash=sha256:00\n    # via x==2\n",
        encoding="utf-8",
    )
    assert read_pins(tmp_path, "runtime") == (Pin("moto", "5.2.5"), Pin("py-win-32", "312"))


def test_a_lock_without_pins_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "runtime.txt").write_text("# nothing\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"runtime\.txt pins no package; `make lock` writes it"):
        read_pins(tmp_path, "runtime")
