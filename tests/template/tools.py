"""The programs of `.venv-template`, run without network or keys: transform, cfn-lint, checkov."""

import json
import os
import subprocess
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from tests.conftest import ROOT
from tests.template.stacks import Templates, Violation

HERE = Path(__file__).parent
ENVIRONMENT = ROOT / ".venv-template"
PROGRAMS = ENVIRONMENT / "bin"
SECONDS = 300


class ToolError(RuntimeError):
    """A program could not do its work; its own words say why."""


@dataclass(frozen=True)
class Exempt:
    """A finding that we know and accept."""

    tool: str
    check: str
    resources: tuple[str, ...]
    reason: str

    def covers(self, check: str, resource: str) -> bool:
        """Whether a finding is the one that is meant."""
        return check == self.check and any(fnmatchcase(resource, each) for each in self.resources)


def is_installed() -> bool:
    """Whether the environment is there; `make validate` installs it."""
    return (ENVIRONMENT / ".ready").is_file()


def exceptions() -> tuple[Exempt, ...]:
    """What exceptions.toml lists."""
    with (HERE / "exceptions.toml").open("rb") as file:
        listed = tomllib.load(file)["exception"]
    return tuple(Exempt(**{**each, "resources": tuple(each["resources"])}) for each in listed)


def transform(root: Path, out: Path) -> Templates:
    """The templates of a checkout as CloudFormation would see them, also written to a folder."""
    _run(out, [HERE / "transform.py", root, out], {0})
    return {
        path.relative_to(out).as_posix(): json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(out.rglob("*.yaml"))
    }


def lint(folder: Path, paths: Iterable[str]) -> list[tuple[str, Violation]]:
    """What cfn-lint says of templates below a folder: each finding with its rule."""
    told = _run(
        folder, [PROGRAMS / "cfn-lint", "--format", "json", "--", *paths], set(range(0, 16, 2))
    )
    return [
        (
            found["Rule"]["Id"],
            Violation(
                _address(found["Filename"], found["Location"]["Path"]),
                f"{found['Rule']['Id']} {found['Message']}",
                found["Rule"]["Source"],
            ),
        )
        for found in json.loads(told or "[]")
    ]


def scan(folder: Path) -> list[tuple[str, Violation]]:
    """What checkov says of the templates in a folder: each finding with its check."""
    told = _run(
        folder,
        [
            *(PROGRAMS / "checkov", "--directory", ".", "--framework", "cloudformation"),
            *("--output", "json", "--compact", "--quiet", "--skip-download"),
        ],
        {0, 1},
    )
    result = json.loads(told)
    if not result["summary"]["passed"] or result["summary"]["parsing_errors"]:
        raise ToolError(f"checkov could not read the templates: {result['summary']}")
    return [
        (
            found["check_id"],
            Violation(
                f"{Path(found['file_path']).stem}.{found['resource'].rpartition('.')[2]}",
                f"{found['check_id']} {found['check_name']}",
                f"{', '.join(found['check_result']['evaluated_keys']) or 'see the check'}"
                ", or an exception with its reason",
            ),
        )
        for found in result["results"]["failed_checks"]
    ]


def judged(
    tool: str, found: Sequence[tuple[str, Violation]], exempt: Iterable[Exempt]
) -> list[Violation]:
    """What is left of a tool's findings; an exception that nothing needs is a finding itself."""
    own = [each for each in exempt if each.tool == tool]
    left = [
        violation
        for check, violation in found
        if not any(each.covers(check, violation.resource) for each in own)
    ]
    stale = [
        Violation("exceptions.toml", f"{each.check} is not needed on {pattern!r}", "delete it")
        for each in own
        for pattern in each.resources
        if not any(
            check == each.check and fnmatchcase(violation.resource, pattern)
            for check, violation in found
        )
    ]
    return left + stale


def _address(file: str, path: list[Any]) -> str:
    """Where in a template a finding is, as in `data.Table` or `data.Parameters.Stage`."""
    parts = [str(each) for each in path[:2]]
    return ".".join([Path(file).stem, *(parts[1:] if parts[:1] == ["Resources"] else parts)])


def _run(folder: Path, arguments: Sequence[object], good: set[int]) -> str:
    """Run the environment's Python in a folder; nothing of our own environment is passed on."""
    run = subprocess.run(
        [PROGRAMS / "python", *map(str, arguments)],
        cwd=folder,
        env={"AWS_DEFAULT_REGION": "us-east-1", "HOME": str(folder), "PATH": os.defpath},
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    if run.returncode not in good:
        name = Path(str(arguments[0])).name
        raise ToolError(f"{name} failed with {run.returncode}:\n{run.stdout}{run.stderr}")
    return run.stdout
