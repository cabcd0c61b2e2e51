"""The product's search meets its goals on real conversations, where those are at hand."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.soak import SOAK

SHARE = {
    "asdc_scud_ja": 500,
    "asdc_cond_ja": 0,
    "jsquad_ja": 400,
    "jaquad_ja": 400,
    "locomo_en": 0,
    "reactdocs_mixed": 0,
}
"""Of each set so many questions, 0 for all, unless the whole is asked for."""

SLACK = 0.015
"""By how much a share may miss a goal, which is one of the whole: 400 questions tell no more."""

LEAST_IN_THE_CROWD = 0.82


@pytest.fixture(scope="module")
def folder() -> Path:
    """Where the sets, the evaluator and the goals are."""
    given = os.environ.get("OPENCRAB_MEMORY_EVAL")
    path = Path(given or ROOT.parent / "shared" / "memory-eval")
    if not (path / "evaluate.py").is_file():
        pytest.skip(f"no retrieval sets in {str(path)!r}: set OPENCRAB_MEMORY_EVAL to their folder")
    return path


def _evaluated(folder: Path, name: str, *options: str, system: str = "make") -> dict[str, float]:
    """The evaluator's measures of one of our systems."""
    limit = 0 if SOAK else SHARE[name]
    script = str(folder / "evaluate.py")
    named = f"tests.bench.memory_system:{system}"
    ran = subprocess.run(
        [
            sys.executable,
            script,
            "--system",
            named,
            "--sets",
            name,
            "--limit",
            str(limit),
            *options,
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    measured = re.findall(r"(\S+@\d+)=([0-9.]+)", ran.stdout)
    assert measured, ran.stderr
    return {measure: float(value) for measure, value in measured}


@pytest.mark.parametrize("name", SHARE)
def test_what_answers_a_question_is_found(folder: Path, name: str) -> None:
    goals = json.loads((folder / "goals.json").read_text(encoding="utf-8"))[name]
    measured = _evaluated(folder, name)
    slack = SLACK if SHARE[name] and not SOAK else 0.0
    missed = {each: measured[each] for each in goals if measured[each] < goals[each] - slack}
    assert goals
    assert missed == {}


@pytest.mark.skipif(not SOAK, reason="minutes of work: `make soak` does it")
@pytest.mark.timeout(3_600)
def test_what_answers_a_question_is_found_among_100_000_other_lines(folder: Path) -> None:
    measured = _evaluated(folder, "asdc_scud_ja", "--background", "100000")
    assert measured["recall@10"] >= LEAST_IN_THE_CROWD


def test_what_the_database_does_by_itself_finds_less(folder: Path) -> None:
    systems = ("unicode61", "trigram", "make")
    words, threes, ours = (
        _evaluated(folder, "asdc_cond_ja", system=system)["recall@10"] for system in systems
    )
    assert words < 0.01
    assert threes < ours - 0.3
