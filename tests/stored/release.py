"""Releases: which were made, which one is being prepared, and how it is prepared."""

import re
import tomllib
from pathlib import Path

from opencrab.adapters.system_clock import SystemClock
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
    return sorted(folders, key=lambda each: _numbers(each.name))


def prepared_release() -> Path:
    """The folder of the version in pyproject.toml; exits if that one was released already."""
    version = version_of_package()
    if version in released_versions(changelog()):
        raise SystemExit(
            f"{version} was released, and its rows stay as they are: "
            "set the next version in pyproject.toml first"
        )
    return RELEASES / version


_VERSION = re.compile(r"\d+\.\d+\.\d+")
_NAMED = ("pyproject.toml", "layers/opencrab/python/opencrab/__init__.py")
"""Files that name the version; pages that show it follow with `make docs` and its tests."""


def set_version(version: str) -> None:
    """Name this version in the package; exits if it is none, or not a later one."""
    before = version_of_package()
    if not _VERSION.fullmatch(version) or _numbers(version) < _numbers(before):
        raise SystemExit(f"{version!r} is no version after {before}: name one such as 0.3.0")
    for name in _NAMED:
        text = (ROOT / name).read_text(encoding="utf-8")
        found = re.sub(rf'(version(?:__)? = )"{re.escape(before)}"', rf'\1"{version}"', text)
        (ROOT / name).write_text(found, encoding="utf-8")


def close_changelog(version: str) -> None:
    """Give what is unreleased the heading of this version and today's date."""
    heading = f"## Unreleased\n\n## {version} ({SystemClock().now():%Y-%m-%d})\n"
    text = closed_changelog(changelog(), heading)
    (ROOT / "CHANGELOG.md").write_text(text, encoding="utf-8")


def closed_changelog(text: str, heading: str) -> str:
    """The changelog with what is unreleased below a heading; exits if nothing is."""
    found, count = re.subn(r"^## Unreleased.*\n", heading, text, count=1, flags=re.MULTILINE)
    if not count:
        raise SystemExit("CHANGELOG.md has no heading “Unreleased”: there is nothing to release")
    return found


def next_steps(version: str) -> str:
    """What a maintainer does next; nothing of it is done here."""
    return (
        f"{version} is prepared. Read the difference, run `make check test test-deployed`, then:\n"
        f'  git commit -am "Release {version}" && git tag v{version} && git push --follow-tags\n'
        "The tag publishes it (.github/workflows/release.yml).\n"
    )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
