"""The tests themselves: they pass fakes, read as sentences, and cannot reach the network."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.architecture.source import Module, obey
from tests.conftest import ROOT

PATCHING = ("mock" + ".patch", "unittest" + ".mock", "monkeypatch" + ".setattr")

REACHING = """
import socket

import pytest


def _reach() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        out.connect(("192.0.2.1", 9))


def test_of_one_that_says_so() -> None:
    socket.getaddrinfo("example.com", 80)


def test_of_one_that_hides_it() -> None:
    try:
        _reach()
    except OSError:
        pass


def test_of_one_that_hides_a_datagram() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        try:
            out.sendto(b"", ("192.0.2.1", 9))
        except OSError:
            pass


@pytest.fixture
def reaching() -> None:
    try:
        _reach()
    except OSError:
        pass


def test_of_a_fixture_that_hides_it(reaching: None) -> None:
    pass


def test_of_this_machine_alone() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(("localhost", server.getsockname()[1])).close()


@pytest.mark.live
def test_of_a_real_provider() -> None:
    _reach()
"""


@cache
def suite() -> tuple[Module, ...]:
    """Every module of the tests, named by its path."""
    paths = sorted((ROOT / "tests").rglob("*.py"))
    return tuple(Module(path.relative_to(ROOT).as_posix(), path) for path in paths)


def test_the_walk_finds_the_whole_suite() -> None:
    found = {module.name for module in suite()}
    assert len(found) > 400
    assert Path(__file__).relative_to(ROOT).as_posix() in found


def test_no_test_replaces_what_it_tests() -> None:
    obey(_patches, suite())


def test_every_test_reads_as_a_sentence() -> None:
    obey(_no_sentences, [module for module in suite() if "/test_" in module.name])


def test_a_test_module_is_found_by_its_name_and_fits_its_limits() -> None:
    obey(_misfits, suite())


def test_a_test_that_reaches_for_the_network_fails_even_if_it_hides_it(tmp_path: Path) -> None:
    (tmp_path / "test_reaching.py").write_text(REACHING, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = live\n", encoding="utf-8")
    run = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-rA", "-p", "tests.conftest"),
            *("-p", "no:cacheprovider", "--rootdir", tmp_path, tmp_path),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    told = {
        line.split()[1].partition("::")[2]: line.split()[0]
        for line in run.stdout.splitlines()
        if line.startswith(("PASSED", "FAILED", "ERROR"))
    }
    assert told == {
        "test_of_one_that_says_so": "FAILED",
        "test_of_one_that_hides_it": "FAILED",
        "test_of_one_that_hides_a_datagram": "FAILED",
        "test_of_a_fixture_that_hides_it": "ERROR",
        "test_of_this_machine_alone": "PASSED",
        "test_of_a_real_provider": "PASSED",
    }, run.stdout


def _patches(module: Module) -> set[str]:
    """Whatever it names that would replace a part of what is tested."""
    if not any(all(part in module.text for part in word.split(".")) for word in PATCHING):
        return set()
    naming = ast.Attribute | ast.Import | ast.ImportFrom
    used = {ast.unparse(node) for node in module.nodes if isinstance(node, naming)}
    return {name for name in used if any(word in name for word in PATCHING)}


def _no_sentences(module: Module) -> Iterator[str]:
    names = {each.name for each in module.functions if each.name.startswith("test")}
    if not names:
        yield "it holds no test"
    yield from (name for name in names if len(name.removeprefix("test_").split("_")) < 3)


def _misfits(module: Module) -> Iterator[str]:
    found = Path(module.name).name.startswith("test_")
    for node in module.tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and not found:
            yield f"pytest would not find {node.name}"
    if not ast.get_docstring(module.tree):
        yield "it does not say what it is for"
    if (lines := len(module.text.splitlines())) > 400:
        yield f"{lines} lines"
    for each in module.functions:
        if isinstance(each, ast.FunctionDef) and (each.end_lineno or 0) - each.lineno >= 50:
            yield f"{each.name} has {(each.end_lineno or 0) - each.lineno + 1} lines"
