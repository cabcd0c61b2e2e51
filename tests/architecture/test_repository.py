"""What lies around the package: locks, Makefile, documents, and nothing of our own machines."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.conftest import ROOT

LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
REGISTRIES = re.compile(r"pypi\.org|files\.pythonhosted|registry\.npmjs")
MACHINE_PATHS = re.compile(r"(?<![\w.~*>)}\]-])/(?:work|root|tmp)/")

every_lock = pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)


@pytest.fixture(scope="module")
def tracked() -> dict[str, str]:
    """Every text file that git keeps, by its path."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("this is not a git checkout")
    listed = subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z"],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        check=True,
        timeout=60,
    )
    texts = {}
    for name in listed.stdout.decode().split("\0"):
        path = ROOT / name
        if name and path.is_file():
            texts[name] = path.read_bytes().decode("utf-8", "replace")
    assert "pyproject.toml" in texts
    return texts


def test_there_is_a_lock_for_running_and_one_for_development() -> None:
    assert {"runtime.txt", "dev.txt"} <= {path.name for path in LOCKS}


@every_lock
def test_a_lock_names_a_hash_for_everything_and_no_host(lock: Path) -> None:
    text = lock.read_text(encoding="utf-8")
    requirements = _requirements(text)
    assert requirements
    assert not [name for name, entry in requirements.items() if "--hash=sha256:" not in entry]
    assert "://" not in text
    assert not re.search(r"^\s*-(?:i|f|-index-url|-extra-index-url|-find-links)\b", text, re.M)


def test_development_pins_what_runs_exactly_as_it_runs() -> None:
    running, developing = (_requirements(_lock(name)) for name in ("runtime.txt", "dev.txt"))
    assert not {name for name, entry in running.items() if developing.get(name) != entry}


def test_every_dependency_of_the_package_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = {re.split(r"[<>=\[; ]", line)[0].lower() for line in project["dependencies"]}
    assert not wanted - {name.partition("==")[0] for name in _requirements(_lock("runtime.txt"))}


def test_no_tracked_file_names_a_registry(tracked: dict[str, str]) -> None:
    here = Path(__file__).relative_to(ROOT).as_posix()
    found = {name: REGISTRIES.findall(text) for name, text in tracked.items() if name != here}
    assert not {name: hosts for name, hosts in found.items() if hosts}


def test_no_document_or_code_names_a_path_of_a_machine(tracked: dict[str, str]) -> None:
    found = {
        name: MACHINE_PATHS.findall(text)
        for name, text in tracked.items()
        if not name.startswith("tests/")
    }
    assert not {name: paths for name, paths in found.items() if paths}


def test_a_machine_path_is_told_from_a_part_of_a_longer_one() -> None:
    for text in ("see /work/main/x", "'/tmp/a'", "(/root/.cache)"):
        assert MACHINE_PATHS.search(text), text
    for text in ("https://example.com/work/1", "data/tmp/x", "~/work/x", "/temporary/"):
        assert not MACHINE_PATHS.search(text), text


def test_make_alone_lists_every_target() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY:(.*)$", makefile, re.M)
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.M))
    assert phony is not None
    assert set(phony[1].split()) == targets
    assert {"setup", "up", "test", "check", "crash", "bench", "lock"} <= targets
    run = subprocess.run(
        ["make", "--no-print-directory"],  # noqa: S607  - whichever make is installed
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    listed = re.findall(r"^make ([a-z-]+) +\S", run.stdout, re.M)
    assert set(listed) == targets


def test_the_readme_begins_with_the_two_commands() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make up" in readme
    assert "make test" in readme


def test_the_changelog_speaks_of_what_is_here() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    headings = re.findall(r"^## \[?([^\]\s]+)", changelog, re.M)
    assert "Unreleased" in headings or project["version"] in headings


def _lock(name: str) -> str:
    return (ROOT / "requirements" / name).read_text(encoding="utf-8")


def _requirements(lock: str) -> dict[str, str]:
    """Every pin of a lock with its marker and hashes, by name and version."""
    lines = [line for line in lock.splitlines() if not line.lstrip().startswith("#")]
    entries = " ".join("\n".join(lines).replace("\\\n", " ").split("\t")).splitlines()
    pins = {entry.split()[0]: " ".join(entry.split()) for entry in entries if entry.strip()}
    assert all("==" in name for name in pins), f"not pinned: {pins}"
    return pins
