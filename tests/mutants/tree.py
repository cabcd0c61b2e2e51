"""A copy of the checkout in which modules are changed and tests are run: the checkout stays."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tests.conftest import ROOT
from tests.mutants.mutant import SOURCES, Mutant
from tests.mutants.server import PIPES, READY

_TEST_SECONDS = 60
_UNTRACKED = ("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z")


@dataclass(frozen=True)
class Verdict:
    """What tests said: those that failed, and whether they took too long or ended their process."""

    failed: tuple[str, ...] = ()
    late: bool = False
    died: bool = False


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

    def write(self, path: Path, text: str) -> None:
        """Write a module, and drop its bytecode, which tells versions of one second not apart."""
        target = self.root / path
        target.write_text(text, encoding="utf-8")
        for stale in target.parent.glob(f"__pycache__/{target.stem}.*.pyc"):
            stale.unlink()

    def start(self, arguments: Iterable[str], **more: Any) -> subprocess.Popen[str]:
        """Start pytest in the tree, in a group of processes of its own."""
        options = ("-q", "-p", "no:cacheprovider", f"--basetemp={self.root.parent / 'tmp'}")
        more.setdefault("env", {})
        environment = {**os.environ, "PYTHONPATH": str(self.root / SOURCES), **more.pop("env")}
        return subprocess.Popen(
            [sys.executable, "-m", "pytest", *options, *arguments],
            cwd=self.root,
            env=environment,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            **more,
        )


class Testing:
    """A tree in which tests of some files are run, in forks of one process that has loaded them."""

    def __init__(self, tree: Tree, files: Iterable[str]) -> None:
        self._tree = tree
        asking, answering = os.pipe(), os.pipe()
        self._log = (tree.root.parent / "log").open("w")
        options = ("-p", "tests.mutants.server", "-n", "0", "--tb=no", "--hypothesis-seed=0")
        self._process = tree.start(
            (*options, f"--timeout={_TEST_SECONDS}", *files),
            env={PIPES: f"{asking[0]},{answering[1]}"},
            pass_fds=(asking[0], answering[1]),
            stdout=self._log,
        )
        os.close(asking[0])
        os.close(answering[1])
        self._questions = os.fdopen(asking[1], "w")
        self._answers = os.fdopen(answering[0])
        self._is_ready = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._questions.close()
        self._answers.close()
        self._log.close()
        _end(self._process)

    def first_failure(
        self, mutant: Mutant, tests: Sequence[str], *, but: Collection[str], seconds: float
    ) -> Verdict:
        """Run tests with a mutant until the first one fails, for so many seconds at most."""
        self._wait_until_ready()
        before = mutant.source(self._tree.root)
        after = mutant.mutated(before)
        self._tree.write(mutant.path, after)
        try:
            changed = {"module": mutant.module, "before": before, "after": after}
            return self._asked(tests, seconds, but=[*but], first=True, **changed)
        finally:
            self._tree.write(mutant.path, before)

    def failures(self, tests: Sequence[str], *, seconds: float) -> Verdict:
        """Which of these tests fail without any mutant."""
        return self._asked(tests, seconds, but=[], first=False, module="")

    def _wait_until_ready(self) -> None:
        """Change no file before all are read."""
        if not self._is_ready:
            self._is_ready = self._answered() == READY

    def _asked(self, tests: Sequence[str], seconds: float, **more: Any) -> Verdict:
        self._wait_until_ready()
        asked = {"tests": list(tests), "seconds": seconds, **more}
        self._questions.write(json.dumps(asked) + "\n")
        self._questions.flush()
        said = self._answered()
        return Verdict(tuple(said["failed"]), said["late"], not (said["ended"] or said["late"]))

    def _answered(self) -> Any:
        line = self._answers.readline()
        if not line:
            log = (self._tree.root.parent / "log").read_text(encoding="utf-8")
            raise RuntimeError(f"pytest has ended: {log[-2_000:]}")
        return json.loads(line)


def _end(run: subprocess.Popen[str]) -> None:
    """End whatever a run has left, servers that its tests started too."""
    with suppress(ProcessLookupError):
        os.killpg(run.pid, 9)
    run.wait()


def _files() -> Iterator[str]:
    listed = subprocess.run(_UNTRACKED, cwd=ROOT, capture_output=True, text=True, check=True)
    return (name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file())
