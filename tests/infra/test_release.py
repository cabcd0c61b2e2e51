"""The release workflow: its commands exist, and no job may do more than it needs."""

import re
import tomllib
from typing import Any

import yaml  # type: ignore[import-untyped, unused-ignore]

from tests.conftest import ROOT

_MADE = re.compile(r"\bmake ([\w./-]+)")
_FILE = re.compile(r"\b((?:tests|infra)/[\w/.-]+)")
_MAJOR = re.compile(r"[\w-]+/[\w.-]+@(?:v\d+|release/v\d+)")


def workflow() -> dict[str, Any]:
    """The workflow; YAML takes its key `on` for true."""
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    found: dict[Any, Any] = yaml.safe_load(text)
    return {"on" if key is True else key: value for key, value in found.items()}


def steps() -> list[dict[str, Any]]:
    """The steps of all jobs."""
    return [step for job in workflow()["jobs"].values() for step in job["steps"]]


def commands() -> str:
    """Everything that steps run in a shell."""
    return "\n".join(step["run"] for step in steps() if "run" in step)


def test_a_tag_of_a_version_starts_it_and_nothing_else() -> None:
    assert workflow()["on"] == {"push": {"tags": ["v[0-9]+.[0-9]+.[0-9]+"]}}


def test_its_commands_name_targets_and_files_that_exist() -> None:
    made = set(_MADE.findall(commands()))
    rules = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert {"audit", ".venv/.dev"} <= made
    assert not [target for target in made if f"\n{target}:" not in rules]
    named = _FILE.findall(commands())
    assert "tests/built/test_wheel.py" in named
    assert all((ROOT / path).exists() for path in named)


def test_the_tag_must_be_the_version_of_the_package() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    version = tomllib.loads(project)["project"]["version"]
    assert 'grep -qx "version = \\"${TAG#v}\\"" pyproject.toml' in commands()
    assert project.count(f'\nversion = "{version}"\n') == 1


def test_wheel_and_sdist_are_built_tested_and_attested_before_they_are_published() -> None:
    job = workflow()["jobs"]["build"]["steps"]
    build = next(
        place for place, step in enumerate(job) if "-t sdist -t wheel" in step.get("run", "")
    )
    tour = next(place for place, step in enumerate(job) if "test_wheel" in step.get("run", ""))
    attest = next(place for place, step in enumerate(job) if "attest" in step.get("uses", ""))
    assert build < tour < attest
    assert job[attest]["with"]["subject-path"] == "dist/*"
    assert workflow()["jobs"]["publish"]["needs"] == "build"
    assert workflow()["jobs"]["release"]["needs"] == "publish"


def test_publishing_needs_no_token_and_no_job_more_rights_than_its_own() -> None:
    jobs = workflow()["jobs"]
    assert workflow()["permissions"] == {}
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert jobs["publish"]["environment"] == "pypi"
    assert jobs["build"]["permissions"]["contents"] == "read"
    assert jobs["release"]["permissions"] == {"contents": "write"}
    assert "secrets." not in str(workflow())


def test_a_name_that_others_choose_reaches_a_shell_as_a_variable_only() -> None:
    assert "${{" not in commands()


def test_actions_are_pinned_by_their_major_version() -> None:
    used = [step["uses"] for step in steps() if "uses" in step]
    assert len(used) > 5
    assert not [action for action in used if not _MAJOR.fullmatch(action)]


def test_the_sbom_is_uploaded_from_where_the_audit_writes_it() -> None:
    (sbom,) = (step["with"] for step in steps() if step.get("with", {}).get("name") == "sbom")
    assert sbom["path"] == "build/*.json"
    written = (ROOT / "infra" / "audit" / "__main__.py").read_text(encoding="utf-8")
    assert "sbom-{lock}.cdx.json" in written
    assert '"build"' in written
