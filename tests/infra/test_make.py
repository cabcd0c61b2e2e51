"""What `make` tells uv and SAM, from a folder whose name has a space."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

NOTES = '#!/bin/sh\necho "$0|$*|$UV_DEFAULT_INDEX|$ACTIONS" >>notes\n'


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with the environments that these targets need, whose tools take notes."""
    folder = tmp_path / "私の crab"
    for tool in (".venv-uv/bin/uv", ".venv-sam/bin/sam"):
        path = folder / tool
        path.parent.mkdir(parents=True)
        path.write_text(NOTES, encoding="utf-8")
        path.chmod(0o755)
    for name in ("requirements", ".venv-telegram"):
        (folder / name).mkdir()
    for lock in ("uv", "sam", "telegram"):
        (folder / "requirements" / f"{lock}.txt").write_text("", encoding="utf-8")
    for ready in (".venv-uv", ".venv-sam"):
        (folder / ready / ".ready").write_text("", encoding="utf-8")
    shutil.copy(ROOT / "Makefile", folder)
    (folder / "pip.conf").write_text(
        "[global]\nindex-url = https://bob:geheim@one.example/simple\n", encoding="utf-8"
    )
    return folder


def make(folder: Path, *arguments: str, **environ: str) -> list[list[str]]:
    """Run make; the notes, each with the tool, its arguments, the index and the folder."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}  # noqa: TID251
    subprocess.run(
        ["make", *arguments],  # noqa: S607 - whichever make is installed
        cwd=folder,
        env={**kept, "PIP_CONFIG_FILE": str(folder / "pip.conf"), **environ},
        check=True,
        capture_output=True,
        timeout=60,
    )
    noted = (folder / "notes").read_text(encoding="utf-8").splitlines()
    return [line.split("|") for line in noted]


@pytest.mark.parametrize(
    ("environ", "index"),
    [
        ({}, "https://bob:geheim@one.example/simple"),
        ({"PIP_INDEX_URL": "https://two.example/"}, "https://two.example/"),
        ({"PIP_INDEX_URL": "https://two.example/", "UV_DEFAULT_INDEX": "https://x/"}, "https://x/"),
    ],
)
def test_uv_is_told_of_pips_index_which_is_written_nowhere(
    checkout: Path, environ: dict[str, str], index: str
) -> None:
    made = make(checkout, ".venv-telegram/.ready", f"PYTHONS={sys.executable}", **environ)
    assert [each[1].split()[:2] for each in made] == [["venv", "--quiet"], ["pip", "install"]]
    assert f"--python {sys.executable} " in made[0][1], "not one that uv would choose"
    assert {each[2] for each in made} == {index}
    (checkout / "pip.conf").unlink()
    (checkout / "notes").unlink()
    left = (path for path in checkout.rglob("*") if path.is_file())
    assert not [path for path in left if b"geheim" in path.read_bytes()]


@pytest.mark.parametrize(
    ("given", "wanted"), [("", ""), ("my actions", "/my actions"), ("/etc/my actions", "")]
)
def test_the_folder_of_actions_is_whole_and_absolute(
    checkout: Path, given: str, wanted: str
) -> None:
    ((_, told, index, folder),) = make(checkout, "build", f"ACTIONS={given}")
    assert (told, index) == ("build", "https://bob:geheim@one.example/simple")
    assert folder == (f"{checkout}{wanted}" if wanted else given)
