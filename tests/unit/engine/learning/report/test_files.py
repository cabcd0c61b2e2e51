"""Learning reports as files: a night's own are known again, and nobody else's is touched."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from opencrab.domain.errors import Conflict
from opencrab.domain.value import Language
from opencrab.engine.learning.report.files import (
    NightReport,
    learning_report_with_section,
    learning_report_without_section,
)
from tests.contract.homes import sqlite
from tests.e2e.house import House

DAY, EN = "daily-2026-01-05", Language.EN
PATH, BESIDE = "reports/learning/2026-01-05.md", "reports/learning/2026-01-05.night.md"
TEXT = "# Mika\n\n12 turns.\n\n## Within the budget?\n\nYes.\n"
HEAD = "## In its own words"


@pytest.fixture
def report(tmp_path: Path) -> Iterator[NightReport]:
    house = House(sqlite, tmp_path)
    yield NightReport(house.home, "mika", DAY, house.clock.now() + timedelta(days=1))
    house.close()


def _well(_report: str) -> str:
    return "All is well."


def test_a_section_is_put_before_all_others_once(report: NightReport) -> None:
    assert report.put(EN, TEXT) == PATH
    for _ in range(2):
        report.replace_section(EN, HEAD, _well)
    title, _, rest = TEXT.partition("## Within")
    after = f"{title}## In its own words\n\nAll is well.\n\n## Within{rest}"
    assert report.written(EN) == after == learning_report_with_section(TEXT, (HEAD, "All is well."))
    assert report.put(EN, TEXT) == PATH
    assert report.written(EN) == TEXT
    assert report.written(Language.JA) == ""


def test_a_section_takes_the_place_of_one_with_its_heading(report: NightReport) -> None:
    report.put(EN, learning_report_with_section(TEXT, (HEAD, "No summary.")))
    report.replace_section(
        EN,
        HEAD,
        lambda rest: f"Well: {rest == TEXT == learning_report_without_section(TEXT, HEAD)}.",
    )
    assert report.written(EN) == learning_report_with_section(TEXT, (HEAD, "Well: True."))


def test_a_report_that_lies_beside_somebody_elses_file_is_found_there(report: NightReport) -> None:
    files = report.home.files
    files.write("mika", PATH, b"my own notes")
    assert report.put(EN, TEXT) == BESIDE
    report.replace_section(EN, HEAD, _well)
    found = report.written(EN)
    assert found.startswith(f"`{PATH}` is not a learning report")
    assert "All is well." in found
    assert files.read("mika", PATH)[1] == b"my own notes"
    files.delete("mika", PATH)
    assert report.written(EN) == found
    files.write("mika", PATH, b"a")
    files.write("mika", BESIDE, b"b")
    with pytest.raises(Conflict, match="are not learning reports"):
        report.put(EN, TEXT)


@pytest.mark.parametrize("clean", [False, True])
def test_what_anybody_has_edited_is_theirs(report: NightReport, clean: bool) -> None:  # noqa: FBT001
    report.put(EN, TEXT)
    files = report.home.files
    edited = files.read("mika", PATH)[1].replace(b"12 turns", b"999 turns")
    files.write("mika", PATH, edited, clean=clean)
    assert report.written(EN) == ""
    report.replace_section(EN, HEAD, _well)
    assert files.read("mika", PATH)[1] == edited


def test_a_report_that_nobody_is_to_word_is_not_known_again(report: NightReport) -> None:
    report.put(EN, TEXT, known=False)
    assert report.written(EN) == ""
