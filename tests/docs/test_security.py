"""SECURITY.md names a mechanism and a test for each risk, and all of them exist."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import ROOT

PAGE = ROOT / "SECURITY.md"
PACKAGE = ROOT / "layers" / "opencrab" / "python"
OWASP = {
    "ASI01": "Agent Goal Hijack",
    "ASI02": "Tool Misuse and Exploitation",
    "ASI03": "Identity and Privilege Abuse",
    "ASI04": "Agentic Supply Chain Vulnerabilities",
    "ASI05": "Unexpected Code Execution",
    "ASI06": "Memory and Context Poisoning",
    "ASI07": "Insecure Inter-Agent Communication",
    "ASI08": "Cascading Failures",
    "ASI09": "Human-Agent Trust Exploitation",
    "ASI10": "Rogue Agents",
}

_CODE = re.compile(r"`([^`]+)`")


def _risks() -> list[tuple[str, list[str], list[str]]]:
    """Each row of a table of risks: its first cell, modules and tests."""
    found = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and len(cells) == 4 and cells[0] not in ("part", "risk"):
            found.append((cells[0], _CODE.findall(cells[2]), _CODE.findall(cells[3])))
    return found


RISKS = _risks()


@cache
def _functions(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def _missing(named: str) -> bool:
    place, _, function = named.partition("::")
    path = (PACKAGE if place.startswith("opencrab/") else ROOT) / place
    return not path.is_file() or (bool(function) and function not in _functions(path))


def test_the_list_of_owasp_is_whole_and_in_its_order() -> None:
    listed = [risk for risk, _, _ in RISKS if risk.startswith("ASI")]
    assert listed == [f"{number} {name}" for number, name in OWASP.items()]
    assert len(RISKS) > len(OWASP) + 10


@pytest.mark.parametrize(("risk", "named", "tests"), RISKS, ids=[row[0] for row in RISKS])
def test_a_risk_has_a_mechanism_and_a_test_that_exist(
    risk: str, named: list[str], tests: list[str]
) -> None:
    assert named, f"{risk}: no module"
    assert tests, f"{risk}: no test"
    assert all("::test_" in each for each in tests)
    assert [each for each in (*named, *tests) if _missing(each)] == []


def test_what_does_not_exist_is_missed() -> None:
    assert _missing("opencrab/engine/turn/gone.py")
    assert _missing("tests/docs/test_security.py::test_gone")
    assert not _missing("tests/docs/test_security.py::test_what_does_not_exist_is_missed")


@pytest.mark.parametrize("page", ["README", "docs/explanation/security"])
@pytest.mark.parametrize("language", [".md", ".ja.md"])
def test_pages_that_speak_of_security_name_it(page: str, language: str) -> None:
    assert "SECURITY.md" in (ROOT / f"{page}{language}").read_text(encoding="utf-8")
