"""Preparing a release: what is changed, and what is refused."""

import pytest

from tests.stored.release import (
    changelog,
    closed_changelog,
    known_releases,
    next_steps,
    released_versions,
    set_version,
    version_of_package,
)

TEXT = "# Changelog\n\n## Unreleased (0.3.0)\n\n- 潮\n\n## 0.2.0 (2026-12-01)\n\n- 蟹\n"


def test_what_is_unreleased_gets_the_heading_of_the_release() -> None:
    closed = closed_changelog(TEXT, "## Unreleased\n\n## 0.3.0 (2027-01-01)\n")
    assert released_versions(closed) == {"0.2.0", "0.3.0"}
    assert closed.index("## Unreleased") < closed.index("## 0.3.0") < closed.index("潮")
    with pytest.raises(SystemExit, match="nothing to release"):
        closed_changelog("# Changelog\n", "## 0.3.0\n")


@pytest.mark.parametrize("version", ["0.1.9", "1.0", "next", "0.3.0rc1"])
def test_only_a_later_version_is_released(version: str) -> None:
    before = version_of_package()
    with pytest.raises(SystemExit, match="no version after"):
        set_version(version)
    assert version_of_package() == before


def test_the_version_in_preparation_has_its_stored_forms() -> None:
    assert known_releases()[-1].name == version_of_package()
    released = released_versions(changelog())
    assert released <= {each.name for each in known_releases()}


def test_a_maintainer_is_told_to_tag() -> None:
    assert "git tag v0.3.0" in next_steps("0.3.0")
