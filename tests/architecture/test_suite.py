"""The tests themselves: they pass fakes, read as sentences, and cannot reach the network."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

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
def suite() -> dict[str, ast.Module]:
    """Every module of the tests as syntax, by its path."""
    return {
        path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted((ROOT / "tests").rglob("*.py"))
    }


@pytest.mark.parametrize("path", suite())
def test_no_test_replaces_what_it_tests(path: str) -> None:
    used = {
        ast.unparse(node)
        for node in ast.walk(suite()[path])
        if isinstance(node, ast.Attribute | ast.Import | ast.ImportFrom)
    }
    assert not {name for name in used if any(word in name for word in PATCHING)}


@pytest.mark.parametrize("path", [path for path in suite() if "/test_" in path])
def test_every_test_reads_as_a_sentence(path: str) -> None:
    names = {
        node.name
        for node in ast.walk(suite()[path])
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test")
    }
    assert names, "it holds no test"
    assert not {name for name in names if len(name.removeprefix("test_").split("_")) < 3}


@pytest.mark.parametrize("path", suite())
def test_a_test_module_is_found_by_its_name_and_fits_its_limits(path: str) -> None:
    tree = suite()[path]
    tests = [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]
    assert not tests or Path(path).name.startswith("test_"), "pytest would not find these"
    assert ast.get_docstring(tree), "it does not say what it is for"
    assert len((ROOT / path).read_text(encoding="utf-8").splitlines()) <= 400
    assert not [
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno >= 50
    ]


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
