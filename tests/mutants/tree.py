"""A copy of the checkout in which modules are changed and tests are run: the checkout stays."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import ROOT
from tests.mutants.mutant import SOURCES

_FAILED = re.compile(r"^(?:FAILED|ERROR) (tests/.+?)(?: - .*)?$", re.M)
_FAILURES = 1
_NO_FAILURE = {0, 5}
"""What pytest answers when all passed, and when there was nothing to run."""

_TEST_SECONDS = 60
_UNTRACKED = ("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z")


@dataclass(frozen=True)
class Verdict:
    """What a run of tests said: the first failure, or that it took too long."""

    seconds: float
    killer: str | None = None
    timed_out: bool = False


class Tree:
    """A copy of the checkout, whose package wins over the one that is installed."""

    def __init__(self, parent: Path, name: str) -> None:
        self.root = parent / name / "checkout"
        self.root.mkdir(parents=True)
        for file in _files():
            target = self.root / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, target, follow_symlinks=False)
        for environment in ROOT.glob(".venv*"):
            (self.root / environment.name).symlink_to(environment.resolve())
        # The recordings of the wire lie beside a checkout.
        (self.root.parent / "shared").symlink_to(ROOT.parent / "shared")

    @contextmanager
    def changed(self, path: Path, text: str) -> Iterator[None]:
        """While this lasts, a module is another."""
        before = (self.root / path).read_text(encoding="utf-8")
        self.write(path, text)
        try:
            yield
        finally:
            self.write(path, before)

    def write(self, path: Path, text: str) -> None:
        """Write a module, and drop its bytecode, which tells versions of one second not apart."""
        target = self.root / path
        target.write_text(text, encoding="utf-8")
        for stale in target.parent.glob(f"__pycache__/{target.stem}.*.pyc"):
            stale.unlink()

    def test(self, names: Sequence[str], *, seconds: float, but: Iterable[str] = ()) -> Verdict:
        """Run tests until the first one fails, for so many seconds at most."""
        deselected = (f"--deselect={name}" for name in but)
        began = time.monotonic()
        try:
            code, said = self._said(("-x", *deselected, *names), seconds)
        except subprocess.TimeoutExpired:
            return Verdict(time.monotonic() - began, timed_out=True)
        if code in _NO_FAILURE:
            return Verdict(time.monotonic() - began)
        failed = _FAILED.search(said)
        return Verdict(time.monotonic() - began, failed[1] if failed else names[0])

    def failing(self, names: Collection[str]) -> set[str]:
        """Which of these tests, or files of tests, fail."""
        if not names:
            return set()
        code, said = self._said(names, None)
        if code in _NO_FAILURE:
            return set()
        if code != _FAILURES:
            # One of them is not there, or ends everything: that says nothing about the others.
            alone = len(names) == 1
            return set(names) if alone else set().union(*(self.failing((x,)) for x in names))
        failed = {found[1] for found in _FAILED.finditer(said)}
        return {
            name for name in names if any(x == name or x.startswith(f"{name}::") for x in failed)
        }

    def _said(self, arguments: Iterable[str], seconds: float | None) -> tuple[int, str]:
        options = ("--tb=no", "-rfE", f"--timeout={_TEST_SECONDS}", "--hypothesis-seed=0")
        run = self.start((*options, *arguments))
        try:
            said, _ = run.communicate(timeout=seconds)
        finally:
            _end(run)
        return run.returncode, said

    def start(self, arguments: Iterable[str]) -> subprocess.Popen[str]:
        """Start pytest in the tree, in a group of processes of its own."""
        sources = str(self.root / SOURCES)
        return subprocess.Popen(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": sources, "COLUMNS": "1000"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )


def _end(run: subprocess.Popen[str]) -> None:
    """End whatever a run has left, servers that its tests started too."""
    with suppress(ProcessLookupError):
        os.killpg(run.pid, 9)
    run.wait()


def _files() -> Iterator[str]:
    listed = subprocess.run(_UNTRACKED, cwd=ROOT, capture_output=True, text=True, check=True)
    return (name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file())
