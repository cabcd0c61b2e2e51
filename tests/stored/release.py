"""Releases: which were made, and which one is being prepared."""

import re
import tomllib
from pathlib import Path

from tests.stored.forms import RELEASES

ROOT = Path(__file__).parents[2]


def version_of_package() -> str:
    """The version that pyproject.toml names."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return str(tomllib.loads(text)["project"]["version"])


def released_versions(changelog: str) -> set[str]:
    """The versions that have a heading of their own in the changelog."""
    return set(re.findall(r"^## (\d+\.\d+\.\d+)", changelog, re.MULTILINE))


def changelog() -> str:
    """The text of the changelog."""
    return (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def known_releases() -> list[Path]:
    """The folders of all releases with stored forms, oldest first."""
    folders = [each for each in RELEASES.iterdir() if each.is_dir()]
    return sorted(folders, key=lambda each: tuple(map(int, each.name.split("."))))


def prepared_release() -> Path:
    """The folder of the version in pyproject.toml; exits if that one was released already."""
    version = version_of_package()
    if version in released_versions(changelog()):
        raise SystemExit(
            f"{version} was released, and its rows stay as they are: "
            "set the next version in pyproject.toml first"
        )
    return RELEASES / version
