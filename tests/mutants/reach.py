"""Which test files execute which mutant's lines, as one run of the whole suite has told.

The map is kept in reach.json, so that an ordinary run needs no such suite: a mutant has survived
when every file that reaches it has passed, and every file that the map does not know.
"""

import ast
import json
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.conftest import ROOT
from tests.mutants.mutant import SOURCES, Mutant
from tests.mutants.tree import Tree

STORED = Path(__file__).with_name("reach.json")

_PROBE = "_reached_mutants"
_PROBE_SOURCE = '''"""Notes which test file reached which mutant."""

import os

_SEEN = set()


def hit(name):
    test = os.environ.get("PYTEST_CURRENT_TEST", "").partition("::")[0]
    if (name, test) in _SEEN:
        return
    _SEEN.add((name, test))
    file = os.open(__file__ + ".tsv", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(file, f"{name}\\t{test}\\n".encode())
    os.close(file)
'''


@dataclass
class Reach:
    """The test files that the map knows, what they take, and what each one reaches.

    `killers` are the files that caught a mutant last: they are tried first.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    reached: dict[str, set[str]] = field(default_factory=dict)
    killers: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path = STORED) -> "Reach":
        """The map as it is stored; an empty one where there is none."""
        if not path.exists():
            return cls()
        stored = json.loads(path.read_text(encoding="utf-8"))
        names = stored["mutants"]
        files: dict[str, list[float | int]] = stored["files"]
        return cls(
            seconds={file: row[0] for file, row in files.items()},
            reached={file: {names[int(n)] for n in row[1:]} for file, row in files.items()},
            killers=stored["killers"],
        )

    def write(self, path: Path = STORED) -> None:
        """Store it, a file on a line."""
        names = sorted(set[str]().union(*self.reached.values()))
        place = {name: n for n, name in enumerate(names)}
        files = [
            f"{json.dumps(file)}: {json.dumps([self.seconds[file], *_places(found, place)])}"
            for file, found in sorted(self.reached.items())
        ]
        killers = [f"{json.dumps(a)}: {json.dumps(b)}" for a, b in sorted(self.killers.items())]
        parts = (
            f'"mutants": {json.dumps(names)}',
            f'"files": {{\n{_rows(files)}\n}}',
            f'"killers": {{\n{_rows(killers)}\n}}',
        )
        path.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")

    def files_for(self, mutant: Mutant) -> list[str]:
        """Every test file that may execute its lines, those that most likely fail first."""
        known = any(mutant.id in found for found in self.reached.values())
        files = [
            file
            for file in default_files()
            if not known or file not in self.reached or mutant.id in self.reached[file]
        ]
        return sorted(files, key=lambda file: self._order(mutant, file))

    def _order(self, mutant: Mutant, file: str) -> tuple[int, int, int, float, str]:
        """The last killer first, then what is named like the module, of its layer, or quick."""
        layer, *folders, name = mutant.module.split(".")[1:]
        mirrored = f"tests/unit/{'/'.join((layer, *folders))}/test_{name}"
        alike = sum((file.startswith(mirrored), f"_{name}" in file, f"/{name}" in file))
        near = file.startswith(("tests/e2e/", "tests/contract/", f"tests/unit/{layer}/"))
        is_last = file == self.killers.get(mutant.id)
        return -is_last, -alike, -near, self.seconds.get(file, 1.0), file


def default_files() -> list[str]:
    """Every file of tests, by its path from the root."""
    found = sorted((ROOT / "tests").rglob("test_*.py"))
    # The list's own test reads the mutants' places, and would fail at each.
    return [path.relative_to(ROOT).as_posix() for path in found if path.parent != STORED.parent]


def mapped(parent: Path, mutants: Iterable[Mutant], jobs: int, killers: dict[str, str]) -> Reach:
    """Run the whole suite once with a probe at each mutant; which tests fail does not matter."""
    tree, report = Tree(parent, "map"), parent / "map.xml"
    by_path: dict[Path, list[Mutant]] = {}
    for mutant in mutants:
        by_path.setdefault(mutant.path, []).append(mutant)
    for path, here in by_path.items():
        tree.write(path, _probed(here[0].source(), here))
    probe = Path(SOURCES, f"{_PROBE}.py")
    tree.write(probe, _PROBE_SOURCE)
    spread = ("-n", str(jobs), "--dist", "loadfile", "--no-loadscope-reorder")
    run = tree.start((*spread, "--tb=no", f"--junitxml={report}"), stdout=subprocess.PIPE)
    said, _ = run.communicate()
    print(said[-2_000:])
    reach = Reach(seconds=_seconds(report), killers=killers)
    reach.reached = {file: set() for file in reach.seconds}
    told = (tree.root / f"{probe}.tsv").read_text(encoding="utf-8").splitlines()
    for name, _, file in (line.partition("\t") for line in told):
        if file:
            reach.reached.setdefault(file, set()).add(name)
    reach.seconds = {file: reach.seconds.get(file, 1.0) for file in reach.reached}
    reach.reached = shared(reach.reached)
    return reach


def shared(reached: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """What files reach whose folder shares a server for the session: what any of them does there.

    Such a server knows only the test that started it.
    """
    sharing = {
        path.parent.relative_to(ROOT).as_posix()
        for path in (ROOT / "tests").rglob("conftest.py")
        if path.parent != ROOT / "tests" and 'scope="session"' in path.read_text(encoding="utf-8")
    }
    after = dict(reached)
    for folder in sharing:
        there = [file for file in reached if file.startswith(f"{folder}/")]
        together = set[str]().union(*(reached[file] for file in there))
        after |= {file: after[file] | together for file in there}
    return after


def _probed(source: str, mutants: Iterable[Mutant]) -> str:
    """The module with a call before each statement in which a mutant lies."""
    tree = ast.parse(source)
    wanted = [(mutant.id, mutant.statement(tree, source)) for mutant in mutants]
    for name, statement in wanted:
        probe = ast.parse(f"__import__({_PROBE!r}).hit({name!r})").body[0]
        body = next(body for body in _bodies(tree) if statement in body)
        body.insert(body.index(statement), probe)
    return ast.unparse(ast.fix_missing_locations(tree))


def _bodies(tree: ast.AST) -> Iterable[list[ast.stmt]]:
    """Every list of statements."""
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            found = getattr(node, name, None)
            if isinstance(found, list):
                yield found


def _seconds(report: Path) -> dict[str, float]:
    """What each file took, by a report of JUnit's form."""
    files = {file.removesuffix(".py").replace("/", "."): file for file in default_files()}
    seconds = dict.fromkeys(files.values(), 0.0)
    for case in ET.parse(report).iter("testcase"):  # noqa: S314  - pytest wrote it just now
        file = files.get(case.get("classname", ""))
        if file is not None:
            seconds[file] += float(case.get("time", 0))
    return {file: round(took, 2) for file, took in seconds.items()}


def _places(found: set[str], place: dict[str, int]) -> list[int]:
    return sorted(place[name] for name in found)


def _rows(rows: list[str]) -> str:
    return ",\n".join(f"  {row}" for row in rows)
